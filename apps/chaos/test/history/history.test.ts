import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { historyOf, readHistory, readRecords } from "../../src/history/read.js";
import { HistoryWriter } from "../../src/history/writer.js";
import { Script } from "../support.js";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "holdfast-history-"));
});
afterEach(async () => {
  await rm(directory, { recursive: true, force: true });
});

describe("a history file", () => {
  it("gives back what was written, unknown fields among it", async () => {
    const script = new Script({ k: {} });
    script.hold("a#0", "k", 10, 20);
    const path = join(directory, "history.jsonl");
    const writer = new HistoryWriter(path);
    const records = script.records.map((record) => ({ ...record, extra: { é: "ü" } }));
    for (const record of records) writer.write(record);
    await writer.close();
    expect(await readRecords(path)).toEqual(records);
    expect((await readHistory(path)).keys.get("k")?.holds).toMatchObject([
      { from: 10e6, to: 20e6, cause: "release" },
    ]);
  });

  const good = JSON.stringify(new Script({ k: {} }).records[0]);
  const invoke = '{"i":1,"t":1,"type":"invoke","p":"a#0","f":"acquire","key":"k","op":1}';
  it.each([
    ["{", "line 2: not JSON"],
    ['{"i":1,"t":-1,"type":"worker"}', "line 2: t must be"],
    ['{"i":1,"t":1,"type":"other"}', "line 2: unknown type other"],
    ['{"i":1,"t":1,"type":"invoke","p":"a#0","f":"grab","key":"k","op":1}', "line 2: unknown operation grab"],
    [
      '{"i":1,"t":1,"type":"invoke","p":"a#0","f":"acquire","key":"z","op":1}',
      "line 2: key z is not in meta",
    ],
    ['{"i":1,"t":1,"type":"ok","p":"a#0","f":"acquire","key":"k","op":1}', "line 2: a#0 ends op 1, which"],
    [
      '{"i":1,"t":1,"type":"effect","p":"resource","key":"k","hold":"h","accepted":true,"token":"0x1"}',
      "decimal",
    ],
    [`${invoke}\n${invoke}`, "line 3: a#0 asks op 1 twice"],
    [
      `${invoke}\n{"i":2,"t":0,"type":"ok","p":"a#0","f":"acquire","key":"k","op":1}`,
      "line 3: an operation ends before",
    ],
    [good, "line 2: a second meta"],
    [
      ["a#0", "b#0"]
        .map((p, at) => {
          const about = `"p":"${p}","f":"acquire","key":"k","op":1`;
          const granted = `{"i":${2 * at + 2},"t":2,"type":"ok",${about},"ret":{"hold":"1"}}`;
          return `{"i":${2 * at + 1},"t":1,"type":"invoke",${about}}\n${granted}`;
        })
        .join("\n"),
      "line 5: b#0 names its hold 1, as a#0 has before",
    ],
    [
      [1, 2]
        .map((op, at) => {
          const about = `"p":"a#0","f":"acquire","key":"k","op":${op}`;
          const granted = `{"i":${2 * at + 2},"t":2,"type":"ok",${about},"ret":{"hold":"1"}}`;
          return `{"i":${2 * at + 1},"t":1,"type":"invoke",${about}}\n${granted}`;
        })
        .join("\n"),
      "line 5: a#0 names its hold 1, as a#0 has before",
    ],
  ])("names line and reason of %s", async (lines, message) => {
    const path = join(directory, "bad.jsonl");
    await writeFile(path, `${good}\n${lines}\n`);
    await expect(readHistory(path)).rejects.toThrow(message);
  });

  it("must begin with meta", () => {
    const [meta, ...rest] = new Script({ k: {} }).records;
    expect(() => historyOf(rest)).toThrow("empty");
    expect(() => historyOf([{ i: 0, t: 0, type: "worker", p: "a#0", f: "start" }, meta as never])).toThrow(
      "first record",
    );
  });
});

describe("a hold", () => {
  it("ends at a kill and at a lost event, but not while its process is paused", () => {
    const script = new Script({ k: {} });
    const killed = script.grant("a#0", "k", 1, 2);
    script.worker("a#0", "killed", 5);
    const lost = script.grant("b#0", "k", 6, 7);
    script.lost("b#0", "k", lost, 9);
    script.release("b#0", "k", lost, 12, 13);
    const paused = script.grant("c#0", "k", 20, 21);
    script.worker("c#0", "paused", 22);
    script.worker("c#0", "resumed", 32);
    script.release("c#0", "k", paused, 33, 34);
    const holds = historyOf(script.records).keys.get("k")?.holds ?? [];
    expect(holds.map(({ id, to, cause }) => [id, to / 1e6, cause])).toEqual([
      [killed, 5, "killed"],
      [lost, 9, "lost"],
      [paused, 33, "release"],
    ]);
  });

  it("is ordered by its stamps when a paused worker's records arrive late", () => {
    const script = new Script({ k: {} });
    script.hold("b#0", "k", 30, 40);
    script.hold("a#0", "k", 10, 20);
    expect(
      historyOf(script.records)
        .keys.get("k")
        ?.holds.map(({ p }) => p),
    ).toEqual(["a#0", "b#0"]);
  });
});
