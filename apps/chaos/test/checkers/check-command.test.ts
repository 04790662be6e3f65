import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { judge } from "../../src/checkers/judge.js";
import { historyOf } from "../../src/history/read.js";
import type { HistoryRecord, MetaRecord } from "../../src/history/record.js";
import { HistoryWriter } from "../../src/history/writer.js";
import { checkCommand } from "../../src/report/commands.js";
import { Script } from "../support.js";

const verdicts = (script: Script): Record<string, string> =>
  Object.fromEntries(judge(historyOf(script.records)).map(({ checker, verdict }) => [checker, verdict]));

it("does not convict holds that only touch", () => {
  const script = new Script({ k: {} });
  script.hold("a#0", "k", 10, 20);
  script.hold("b#0", "k", 20, 30);
  expect(verdicts(script)).toMatchObject({
    mutex: "pass",
    belief: "pass",
    permits: "unknown",
    effect: "unknown",
  });
});

it("keeps belief, advertised and effect apart", () => {
  const script = new Script({ k: { fenced: true } });
  const late = script.grant("a#0", "k", 9, 10, { token: 1, validUntil: 50 });
  script.write("k", late, 20, 0, { token: 1 });
  const next = script.hold("b#0", "k", 60, 90, { token: 2 });
  script.write("k", next, 70, 1, { token: 2 });
  script.write("k", late, 80, 2, { token: 1, accepted: false });
  script.release("a#0", "k", late, 85, 86);
  expect(verdicts(script)).toMatchObject({ belief: "violation", advertised: "pass", effect: "pass" });
});

it("convicts a read that has the token of a write before it", () => {
  const script = new Script({ k: { kind: "read-write", fenced: true } });
  script.hold("a#0", "k", 10, 20, { token: 5, mode: "write" });
  script.hold("b#0", "k", 30, 40, { token: 5, mode: "read" });
  expect(verdicts(script)).toMatchObject({ "fence-order": "violation", rw: "pass" });
});

it("convicts a token that is lower than that of an earlier hold, also where both were asked for before", () => {
  const told = (fault: boolean): string | undefined => {
    const script = new Script({ k: { fenced: true } });
    const earlier = script.grant("a#0", "k", 2, 3, { token: 9 });
    script.release("a#0", "k", earlier, 10, 11);
    if (fault) script.fault("link.stall-down", 4, 8);
    const later = script.grant("b#0", "k", 1, 12, { token: 8 });
    script.release("b#0", "k", later, 20, 21);
    script.records.sort((one, other) => one.t - other.t);
    return verdicts(script)["fence-order"];
  };
  expect([told(false), told(true)]).toEqual(["violation", "pass"]);
});

it("convicts a release that never comes to an end", () => {
  const script = new Script({ k: {} });
  const stuck = script.grant("a#0", "k", 1, 2);
  script.asks("a#0", "k", 10, { f: "release", hold: stuck });
  script.hold("b#0", "k", 20, 30);
  script.worker("a#0", "killed", 26_000);
  script.queue("k", 27_000, []);
  expect(verdicts(script)["heal-liveness"]).toBe("violation");
});

it("convicts an update that overwrote another, and the write of an older holder after a newer one's", () => {
  const overwritten = new Script({ k: { kind: "naive" } });
  const one = overwritten.grant("a#0", "k", 9, 10);
  const two = overwritten.grant("b#0", "k", 11, 12);
  overwritten.write("k", one, 20, 0);
  overwritten.write("k", two, 21, 0);
  overwritten.release("a#0", "k", one, 30, 31);
  overwritten.release("b#0", "k", two, 30, 31);
  expect(verdicts(overwritten)).toMatchObject({ "lost-update": "violation", effect: "violation" });

  const stale = new Script({ k: {} });
  const old = stale.grant("a#0", "k", 9, 10, { token: 1 });
  const next = stale.grant("b#0", "k", 11, 12, { token: 2 });
  stale.write("k", next, 20, 0, { token: 2 });
  stale.write("k", old, 21, 1, { token: 1 });
  expect(verdicts(stale)).toMatchObject({ "lost-update": "pass", effect: "violation" });
});

it("convicts a loss that was told after the next grant", () => {
  const script = new Script({ k: {} });
  const hold = script.grant("a#0", "k", 9, 10);
  script.hold("b#0", "k", 50, 60);
  script.lost("a#0", "k", hold, 55);
  expect(verdicts(script)).toMatchObject({ "lost-notice": "violation" });
});

it("convicts a lock that tells of losses and has not told of one, unless its holder stood still", () => {
  const verdict = (tellsLoss: boolean, paused: boolean): string | undefined => {
    const script = new Script({ k: {} });
    const hold = script.grant("a#0", "k", 1, 2);
    if (paused) script.worker("a#0", "paused", 500);
    script.hold("b#0", "k", 1_000, 1_200);
    if (paused) script.worker("a#0", "resumed", 1_300);
    script.release("a#0", "k", hold, 1_400, 1_401);
    const results = judge(historyOf(script.records), { tellsLoss, lostLateMs: 250 });
    return results.find(({ checker }) => checker === "lost-notice")?.verdict;
  };
  expect([verdict(true, false), verdict(false, false), verdict(true, true)]).toEqual([
    "violation",
    "pass",
    "pass",
  ]);
});

/** Where a history may be written for the length of a test. */
async function historyPath(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-check-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return join(folder, "history.jsonl");
}

async function written(path: string, records: readonly HistoryRecord[]): Promise<void> {
  const writer = new HistoryWriter(path);
  for (const record of records) writer.write(record);
  await writer.close();
}

it("checks a file by the limits of its run, which its first record has", async () => {
  const path = await historyPath();
  const script = new Script({ k: {} });
  script.hold("a#0", "k", 10, 20);
  script.hold("b#0", "k", 1_020, 1_030);
  script.asks("c#0", "k", 15, { outcome: "fail", ended: 1_100 });
  const [meta, ...rest] = script.records;
  const args = [path, "--checker", "handover"];
  await written(path, script.records);
  expect(await checkCommand(args, () => {})).not.toBe(1);
  await written(path, [{ ...(meta as MetaRecord), check: { handoverLimitMs: 500 } }, ...rest]);
  expect(await checkCommand(args, () => {})).toBe(1);
});

it("checks a file and answers with the exit code", async () => {
  const path = await historyPath();
  const script = new Script({ k: {} });
  script.hold("a#0", "k", 10, 20);
  script.hold("b#0", "k", 15, 30);
  await written(path, script.records);
  const lines: string[] = [];
  const out = (line: string): void => void lines.push(line);
  expect(await checkCommand([path, "--checker", "mutex"], out)).toBe(1);
  expect(lines.join()).toContain("both for 5.000 ms");
  expect(await checkCommand([path, "--checker", "fence-order"], out)).toBe(2);
  const unevident = new URL("../../histories/fault-without-evidence.jsonl", import.meta.url);
  expect(await checkCommand([fileURLToPath(unevident)], out)).toBe(2);
  expect(await checkCommand([`${path}.none`], out)).toBe(254);
  expect(await checkCommand([path, "--checker", "nothing"], out)).toBe(254);
});
