import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { compile, scratchInside } from "../support/emit.js";
import { LineProcess } from "../support/line-process.js";
import { run } from "../support/run.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const source = fileURLToPath(new URL("set-contender.ts", import.meta.url));

export interface SetContest {
  readonly how: "together" | "singly";
  readonly seed: number;
  readonly rounds: number;
  readonly label: string;
  /** With a counter for each name. */
  readonly folder: string;
  readonly names: readonly string[];
}

export interface SetContender {
  contend(contest: SetContest, withinMs: number): Promise<void>;
  close(): Promise<void>;
}

/** Processes of their own that take sets of locks through the built packages, as installed services would. */
export async function startSetContenders(connect: string, count: number): Promise<readonly SetContender[]> {
  const turbo = join(root, "node_modules/.bin/turbo");
  const build = ["run", "build", "--filter=@holdfast/multi-lock", "--output-logs=errors-only"];
  await run(turbo, build, { cwd: root, withinMs: 120_000 });
  await using scratch = await scratchInside();
  // Types are checked with the rest of the tests.
  await compile(source, scratch.dir, ["--noCheck"]);
  const started: LineProcess[] = [];
  try {
    for (let i = 0; i < count; i++) {
      const lines = new LineProcess(process.execPath, [join(scratch.dir, "set-contender.js")]);
      started.push(lines);
      await lines.request("connect", [connect], 30_000);
    }
  } catch (error) {
    for (const lines of started) await lines.kill();
    throw error;
  }
  return started.map((lines) => ({
    async contend({ how, seed, rounds, label, folder, names }, withinMs) {
      await lines.request("contend", [how, String(seed), String(rounds), label, folder, ...names], withinMs);
    },
    async close() {
      try {
        await lines.request("close", [], 30_000);
      } finally {
        await lines.end(5_000);
      }
    },
  }));
}
