import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { seededRandom } from "@holdfast/core/testing";
import { expect, it } from "vitest";
import { LastingHistory } from "../../apps/dashboard/src/history/lasting-history.js";
import { buildPackages } from "../support/process/emit.js";
import { share } from "../support/share.js";

const kills = share("kills of a process that writes a history", 4, 100);
/**
 * How many of the last holds may be lost. The writer adds ten in a turn, and a turn takes 10 ms or longer, so they are the holds
 * of at least a second. A change is written within half a second. Turns are counted and not time, because on a busy machine a
 * process may stand still for a second, and writes nothing in that second.
 */
const mayBeLost = 1_000;
const writer = fileURLToPath(new URL("support/history-writer.mjs", import.meta.url));

/** Runs the writer and kills it after `afterMs`; resolves with the entries that it reported as added. */
async function writtenUntilKilled(file: string, run: number, afterMs: number): Promise<readonly string[]> {
  const child: ChildProcess = spawn(process.execPath, [writer, file, String(run)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let text = "";
  let began: () => void = () => {};
  const beginning = new Promise<void>((resolve) => {
    began = resolve;
  });
  child.stdout?.setEncoding("utf8").on("data", (part: string) => {
    text += part;
    began();
  });
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  await Promise.race([beginning, ended]);
  await new Promise((resolve) => setTimeout(resolve, afterMs));
  child.kill("SIGKILL");
  await ended;
  // The last line may be cut off.
  return text.split("\n").slice(0, -1);
}

it("a history whose writer is killed at any moment opens again, and has all that is older than a second", {
  timeout: 120_000 + kills * 30_000,
}, async () => {
  await buildPackages("@holdfast/dashboard");
  const seed = Number(process.env.HOLDFAST_SEED ?? Math.floor(Math.random() * 2 ** 31));
  console.log(`HOLDFAST_SEED=${seed}`);
  const random = seededRandom(seed);
  const folder = await mkdtemp(join(tmpdir(), "holdfast-killed-"));
  const file = join(folder, "history.db");
  try {
    for (let run = 0; run < kills; run++) {
      const told = await writtenUntilKilled(file, run, 200 + Math.floor(random() * 2_800));
      const history = await LastingHistory.open({ file, maxMegabytes: 64 });
      try {
        const kept = await entriesOf(history, run);
        const due = told.slice(0, -mayBeLost);
        const lost = due.filter((entry) => !kept.has(entry));
        expect(lost, `of ${due.length} in run ${run}`).toEqual([]);
        expect(told.length, `run ${run}`).toBeGreaterThan(0);
      } finally {
        await history.close();
      }
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

async function entriesOf(history: LastingHistory, run: number): Promise<Set<string>> {
  const entries = new Set<string>();
  let after: readonly [number, number] | null = null;
  do {
    const page: Awaited<ReturnType<typeof ask>> = await ask(history, run, after);
    for (const { entry } of page.holds) entries.add(entry);
    after = page.next;
  } while (after !== null);
  return entries;
}

function ask(history: LastingHistory, run: number, after: readonly [number, number] | null) {
  const range = { fromMs: Date.now() - 3_600_000, toMs: Date.now() + 60_000, limit: 500 };
  return history.ask({ ask: "story", cluster: "zoo", key: `/run/${run}`, ...range, after });
}
