import { execFileSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Options } from "../cli/options.js";
import { measurePeers } from "./measure.js";
import { type Memory, measureHeap } from "./memory.js";
import { pageOf } from "./page.js";
import { peers } from "./peers.js";
import { figuresMarkdown, type PeersReport, thisMachine, together } from "./report.js";
import { stepsOf } from "./schedule.js";
import { isTargeted, judge, targets } from "./targets.js";
import { heapRow, quick, workloads } from "./workloads.js";

const page = fileURLToPath(new URL("../../../../docs/performance.md", import.meta.url));

/** `bench peers`: measures and prints what was asked for. When it is interrupted, it prints what it has. */
export async function comparePeers(
  options: Options["peers"] & { readonly json: boolean },
  tell: (line: string) => void,
): Promise<number> {
  const stop = new AbortController();
  const interrupted = (): void => {
    tell("interrupted: ending with what is there");
    stop.abort();
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, interrupted);
  try {
    const report =
      options.from.length > 0 ? await read(options.from) : await measure(options, stop.signal, tell);
    const judged = targets.map((target) => judge(target, report.samples));
    console.log(options.json ? JSON.stringify({ ...report, targets: judged }) : figuresMarkdown(report));
    if (options.write && report.complete) {
      await writeFile(page, pageOf(report));
      tell(`written: ${page}`);
    }
    if (!report.complete) return 130;
    const missed = judged.filter(({ reached }) => reached === "missed" || reached === "not measured");
    if (!options.targets || options.quick || missed.length === 0) return 0;
    tell(`${missed.length} of ${targets.length} targets are missed or were not measured`);
    return 1;
  } finally {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.off(signal, interrupted);
  }
}

async function read(files: readonly string[]): Promise<PeersReport> {
  return together(await Promise.all(files.map(async (file) => JSON.parse(await readFile(file, "utf8")))));
}

async function measure(
  options: Options["peers"],
  signal: AbortSignal,
  onProgress: (line: string) => void,
): Promise<PeersReport> {
  const { backends, rounds } = options;
  const chosen = workloads.filter(({ name }) => options.workloads.includes(name));
  const circumstances = { ...(await commandAndCommit()), ...thisMachine() };
  const result = await measurePeers({
    steps: stepsOf({
      backends,
      peers: peers.filter(({ name }) => options.names.includes(name)),
      workloads: options.quick ? chosen.map(quick) : chosen,
      wanted: (backend, { name }) => !options.targets || isTargeted(backend, name),
    }),
    rounds,
    warmUpMs: options.quick ? 50 : 700,
    signal,
    onProgress,
  });
  const memory: Memory[] = [];
  const absences = [...result.absences];
  if (options.workloads.includes(heapRow) && options.names.includes("holdfast")) {
    for (const backend of backends) {
      if (signal.aborted) break;
      onProgress(`${backend} ${heapRow}`);
      try {
        memory.push(await measureHeap(backend, { quick: options.quick, signal }));
      } catch (error) {
        const why = (error as Error).message;
        if (!signal.aborted) absences.push({ backend, peer: "holdfast", workload: heapRow, why });
      }
    }
  }
  return { runs: [circumstances], ...result, absences, complete: !signal.aborted, memory };
}

async function commandAndCommit(): Promise<{ command: string; date: string; commit: string }> {
  return {
    command: `node apps/bench/dist/main.js ${process.argv.slice(2).join(" ")}`,
    date: new Date().toISOString().slice(0, 10),
    commit: git("rev-parse", "--short", "HEAD"),
  };
}

function git(...args: readonly string[]): string {
  return execFileSync("git", args, {
    cwd: fileURLToPath(new URL("../..", import.meta.url)),
    encoding: "utf8",
  }).trim();
}
