import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { judge } from "../../src/checkers/judge.js";
import { readHistory } from "../../src/history/read.js";
import type { HistoryRecord } from "../../src/history/record.js";
import { HistoryWriter } from "../../src/history/writer.js";
import { Script } from "../support.js";

const operations = process.env.HOLDFAST_FULL === "1" ? 1_000_000 : 100_000;

it(`judges ${operations} operations in their share of 10 s and below 1 GB`, {
  timeout: 120_000,
}, async () => {
  const directory = await mkdtemp(join(tmpdir(), "holdfast-million-"));
  try {
    const path = join(directory, "history.jsonl");
    const writer = new HistoryWriter(path);
    const keys = Object.fromEntries(Array.from({ length: 10 }, (_, k) => [`k${k}`, { fenced: true }]));
    for (const record of new Script(keys).records) writer.write(record);
    let i = 0;
    const add = (record: object, t: number): void => writer.write({ i: ++i, t, ...record } as HistoryRecord);
    for (let n = 0; n < operations / 2; n++) {
      const [p, key, t] = [`w${n % 7}#0`, `k${n % 10}`, n * 1e5];
      const [op, hold] = [2 * n, `${p}:${2 * n}`];
      add({ type: "invoke", p, f: "acquire", key, op }, t);
      add({ type: "ok", p, f: "acquire", key, op, ret: { hold, token: String(n + 1) } }, t + 1e4);
      add({ type: "invoke", p, f: "release", key, op: op + 1, hold }, t + 7e5);
      add({ type: "ok", p, f: "release", key, op: op + 1 }, t + 8e5);
    }
    await writer.close();
    const began = performance.now();
    const results = judge(await readHistory(path));
    const tookMs = performance.now() - began;
    const rssMb = process.memoryUsage().rss / 2 ** 20;
    console.log(`${operations} operations: ${Math.round(tookMs)} ms, ${Math.round(rssMb)} MB resident`);
    expect(results.filter(({ verdict }) => verdict === "violation")).toEqual([]);
    expect(results.find(({ checker }) => checker === "mutex")?.metrics.judged).toBe(operations / 2);
    expect(tookMs).toBeLessThan(10_000);
    expect(rssMb).toBeLessThan(1_024);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});
