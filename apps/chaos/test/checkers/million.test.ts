import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { judge } from "../../src/checkers/judge.js";
import { writeSampleHistory } from "../../src/checkers/self-test/sample-history.js";
import { readHistory } from "../../src/history/read.js";

const full = process.env.HOLDFAST_FULL === "1";
const operations = full ? 1_000_000 : 100_000;
/** The share of 10 s for a million operations. It is measured in CPU time, which other work on the machine hardly lengthens. */
const limitMs = (10_000 * operations) / 1_000_000;
const patience = 10;

it(`judges ${operations} operations in ${patience} times their share of 10 s and below 1 GB`, {
  timeout: 240_000,
}, async () => {
  const directory = await mkdtemp(join(tmpdir(), "holdfast-million-"));
  try {
    const path = join(directory, "history.jsonl");
    await writeSampleHistory(path, operations);
    // Test files that ran in this process before have left memory behind.
    const rssBefore = process.memoryUsage().rss;
    const [began, cpuBegan] = [performance.now(), process.cpuUsage()];
    const results = judge(await readHistory(path));
    const { user, system } = process.cpuUsage(cpuBegan);
    const [tookMs, cpuMs] = [performance.now() - began, (user + system) / 1_000];
    const rssMb = (process.memoryUsage().rss - rssBefore) / 2 ** 20;
    console.log(
      `${operations} operations: ${Math.round(tookMs)} ms, ${Math.round(cpuMs)} ms of a core, ${Math.round(rssMb)} MB more resident`,
    );
    expect(results.filter(({ verdict }) => verdict === "violation")).toEqual([]);
    expect(results.find(({ checker }) => checker === "mutex")?.metrics.judged).toBe(operations / 2);
    expect(cpuMs).toBeLessThan(limitMs * patience);
    expect(rssMb).toBeLessThan(1_024);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});
