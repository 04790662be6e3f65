import type { HistoryRecord } from "../../history/record.js";
import { HistoryWriter } from "../../history/writer.js";

/**
 * Writes a history of seven workers at ten fenced keys, with one hold after another at each key. It is as dense as a
 * correct history can be.
 */
export async function writeSampleHistory(path: string, operations: number): Promise<void> {
  const writer = new HistoryWriter(path);
  let i = 0;
  const add = (record: object, t: number): void => writer.write({ i: i++, t, ...record } as HistoryRecord);
  const about = { kind: "mutex", backend: "zookeeper", leaseMs: 1_000, fenced: true };
  const keys = Object.fromEntries(Array.from({ length: 10 }, (_, k) => [`k${k}`, about]));
  const run = { run: "sample", seed: 1, scenario: "sample", versions: {}, capabilities: [] };
  add({ type: "meta", v: 1, keys, ...run }, 0);
  for (let n = 0; n < operations / 2; n++) {
    const [p, key, t] = [`w${n % 7}#0`, `k${n % 10}`, n * 1e5];
    const [op, hold] = [2 * n, `${p}:${2 * n}`];
    add({ type: "invoke", p, f: "acquire", key, op }, t);
    add({ type: "ok", p, f: "acquire", key, op, ret: { hold, token: String(n + 1) } }, t + 1e4);
    add({ type: "invoke", p, f: "release", key, op: op + 1, hold }, t + 7e5);
    add({ type: "ok", p, f: "release", key, op: op + 1 }, t + 8e5);
  }
  await writer.close();
}
