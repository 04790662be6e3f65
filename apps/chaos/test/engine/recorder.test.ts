import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { RunClock } from "../../src/engine/clock.js";
import { Recorder } from "../../src/engine/recorder.js";
import { readRecords } from "../../src/history/read.js";
import type { HistoryRecord } from "../../src/history/record.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "recorder-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

it("numbers records as they arrive, whatever workers count, and leaves a worker's stamps alone, also when they come late", async () => {
  const path = join(folder, "history.jsonl");
  const recorder = new Recorder(path, new RunClock());
  const heard: HistoryRecord[] = [];
  recorder.listen((record) => heard.push(record));
  recorder.arrived({ t: 900, type: "event", p: "w1#0", f: "lost", key: "k1" });
  const counted = { i: 7, t: 100, type: "event", p: "w0#0", f: "lost", key: "k1" } as const;
  recorder.arrived(counted);
  await recorder.close();
  const written = await readRecords(path);
  expect(written.map(({ i, t }) => [i, t])).toEqual([
    [0, 900],
    [1, 100],
  ]);
  expect(heard).toEqual(written);
});

it("stamps what the runner does by the clock that workers are given", () => {
  const clock = new RunClock();
  const recorder = new Recorder(join(folder, "history.jsonl"), clock);
  const before = new RunClock(clock.base).now();
  const t = recorder.record({ type: "worker", p: "w0#0", f: "start" });
  expect(t).toBeGreaterThanOrEqual(before);
  expect(t).toBeLessThanOrEqual(new RunClock(clock.base).now());
});
