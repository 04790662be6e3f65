import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { judge } from "../../src/checkers/judge.js";
import { main } from "../../src/cli/main.js";
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

it.each([
  ["one instance alone asks", ["s0#0"]],
  ["instances ask one after the other", ["s0#0", "s1#0", "s2#0"]],
])("says nothing of a service's lock where %s, since none has to wait", (_what, turns) => {
  const script = new Script({ k: {} });
  for (let at = 0; at < 60; at++)
    script.hold(turns[at % turns.length] as string, "k", 50 * at + 10, 50 * at + 40);
  const verdictOf = (contended: boolean) =>
    judge(historyOf(script.records), { only: ["stats"], contended }).map(({ verdict }) => verdict);
  expect(verdictOf(true)).toEqual(["unknown"]);
  expect(verdictOf(false)).toEqual(["pass"]);
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

it.each([
  { token: 10, verdict: "pass" },
  { token: 9, verdict: "violation" },
  { token: 8, verdict: "violation" },
])("a read with token $token that waited for a write with token 9: $verdict", ({ token, verdict }) => {
  const script = new Script({ k: { kind: "read-write", fenced: true } });
  const write = script.grant("w#0", "k", 2, 3, { token: 9, mode: "write" });
  script.release("w#0", "k", write, 10, 11);
  const read = script.grant("r#0", "k", 1, 12, { token, mode: "read" });
  script.release("r#0", "k", read, 20, 21);
  script.records.sort((one, other) => one.t - other.t);
  expect(verdicts(script)["fence-order"]).toBe(verdict);
});

it.each([
  { answers: ["info"], verdict: "unknown" },
  // In one hold another worker was kept out, whatever errors there were in the others.
  { answers: ["info", "fail"], verdict: "pass" },
  { answers: ["info", "ok"], verdict: "pass" },
] as const)(
  "workers took turns, the second after the death of the first, and acquires beside a hold ended with $answers: $verdict",
  ({ answers, verdict }) => {
    const script = new Script({ k: {} });
    for (let n = 0; n < 60; n++) {
      const [holder, other] = n < 30 ? ["a#0", "b#0"] : ["b#0", "a#1"];
      script.hold(holder, "k", 50 * n + 10, 50 * n + 40);
      script.asks(other, "k", 50 * n + 20, { outcome: "info" });
    }
    script.worker("a#0", "killed", 1_495);
    const last = script.grant("b#0", "k", 3_009, 3_010);
    for (const outcome of answers) script.asks("a#1", "k", 3_020, { outcome, ended: 3_050 });
    script.release("b#0", "k", last, 3_040, 3_041);
    expect(verdicts(script).stats).toBe(verdict);
  },
);

it("does not convict a refusal beside a read that was a write before, however long that is held", () => {
  const script = new Script({ k: { kind: "read-write" } });
  const write = script.grant("a#0", "k", 1, 2);
  const read = script.downgrade("a#0", "k", write, 10, 11);
  script.asks("b#0", "k", 3_000, { f: "try-acquire", outcome: "fail", ended: 3_001 });
  script.release("a#0", "k", read, 5_000, 5_001);
  expect(verdicts(script).refusals).toBe("pass");
});

it.each([
  { asks: "read", held: "write", verdict: "pass" },
  { asks: "read", held: "read", verdict: "violation" },
  { asks: "write", held: "read", verdict: "pass" },
] as const)("a $asks that a $held keeps out for longer than the limit: $verdict", (row) => {
  const script = new Script({ k: { kind: "read-write" } });
  script.grant("a#0", "k", 1, 2, { mode: row.held });
  script.asks("b#0", "k", 10, { mode: row.asks });
  script.queue("k", 30_000, []);
  expect(verdicts(script)["heal-liveness"]).toBe(row.verdict);
});

it("convicts a writer that was forgotten behind two long reads, whose time counts once", () => {
  const script = new Script({ k: { kind: "read-write" } });
  const reads = ["a#0", "b#0"].map((p) => [p, script.grant(p, "k", 1, 2, { mode: "read" })] as const);
  script.asks("c#0", "k", 10, { mode: "write" });
  for (const [p, read] of reads) script.release(p, "k", read, 12_000, 12_001);
  script.queue("k", 25_000, []);
  expect(verdicts(script)["heal-liveness"]).toBe("violation");
});

it.each([
  { asks: [], verdict: "unknown" },
  { asks: [{ p: "a#0", granted: true }], verdict: "pass" },
  { asks: [{ p: "a#0", granted: false }], verdict: "violation" },
  {
    asks: [
      { p: "a#0", granted: true },
      { p: "b#0", granted: false },
    ],
    verdict: "violation",
  },
])("a key for which after the last fault $asks asked is $verdict", ({ asks, verdict }) => {
  const script = new Script({ k: {} });
  script.hold("a#0", "k", 10, 20);
  script.fault("worker.pause", 50, 1_000);
  for (const { p, granted } of asks) {
    if (granted) script.hold(p, "k", 1_100, 1_200);
    else script.asks(p, "k", 1_300, { waitMs: 100, outcome: "fail", ended: 1_400 });
  }
  script.queue("k", 12_000, []);
  expect(verdicts(script)["heal-liveness"]).toBe(verdict);
});

it.each([
  { healClients: 2, of: ["a#0", "a#0"], verdict: "violation" },
  { healClients: 1, of: ["a#0", "a#0"], verdict: "pass" },
  { healClients: 2, of: ["a#0", "b#0"], verdict: "pass" },
  { healClients: 1, of: [], verdict: "violation" },
])(
  "after a fault $healClients clients have to be served, and $of were: $verdict",
  ({ healClients, of, verdict }) => {
    const script = new Script({ k: {} });
    script.fault("zk.kill", 10, 20);
    for (const [i, client] of of.entries()) script.hold(client, "k", 1_000 * (i + 1), 1_000 * (i + 1) + 10);
    script.asks("b#0", "k", 500, { waitMs: 100, outcome: "fail", ended: 600 });
    script.queue("k", 15_000, []);
    const judged = judge(historyOf(script.records), { healClients });
    expect(judged.find(({ checker }) => checker === "heal-liveness")?.verdict).toBe(verdict);
  },
);

it.each([
  { asks: "write", verdict: "pass" },
  { asks: "read", verdict: "violation" },
] as const)("a $asks that is refused beside a read that is held on after the last fault: $verdict", (row) => {
  const script = new Script({ k: { kind: "read-write" } });
  script.fault("zk.kill", 50, 1_000);
  script.grant("a#0", "k", 1_100, 1_101, { mode: "read" });
  script.asks("b#0", "k", 1_200, { mode: row.asks, waitMs: 100, outcome: "fail", ended: 1_300 });
  script.queue("k", 12_000, []);
  expect(verdicts(script)["heal-liveness"]).toBe(row.verdict);
});

it.each([
  { pause: 20, returns: 1_000, verdict: "pass" },
  { pause: 20, returns: 60_000, verdict: "violation" },
  { pause: 5_000, returns: 5_500, verdict: "pass" },
])("a wait of 0.1 s with a pause of $pause ms that returns after $returns ms: $verdict", (row) => {
  const script = new Script({ k: {} });
  script.hold("a#0", "k", 1, 10);
  script.asks("b#0", "k", 0, { waitMs: 100, outcome: "fail", ended: row.returns });
  script.worker("b#0", "paused", 50);
  script.worker("b#0", "resumed", 50 + row.pause);
  expect(verdicts(script)["bounded-wait"]).toBe(row.verdict);
});

it.each([
  { counted: 2, verdict: "violation" },
  { counted: 1, verdict: "unknown" },
])("a wait at a latch after $counted countdowns of two that gets no end: $verdict", (row) => {
  const script = new Script({ k: { kind: "latch", count: 2 } });
  script.asks("a#0", "k", 1, { f: "await" });
  for (let n = 1; n <= row.counted; n++) script.asks("b#0", "k", 10 * n, { f: "count-down", outcome: "ok" });
  script.queue("k", 12_000, []);
  expect(verdicts(script)["heal-liveness"]).toBe(row.verdict);
});

it.each([
  { releases: ["inner fail", "outer fail"], verdict: "violation" },
  // A hold that was not released, or perhaps not, may still be counted.
  { releases: ["inner fail"], verdict: "pass" },
  { releases: ["inner fail", "inner ok"], verdict: "pass" },
  { releases: ["inner fail", "outer info"], verdict: "pass" },
])("a count of two after a loss and the releases $releases: $verdict", ({ releases, verdict }) => {
  const script = new Script({ k: { kind: "reentrant" } });
  const holds = {
    outer: script.grant("a#0", "k", 1, 2, { thread: "t", count: 1 }),
    inner: script.grant("a#0", "k", 3, 4, { thread: "t", count: 2 }),
  };
  for (const hold of Object.values(holds)) script.lost("a#0", "k", hold, 10);
  releases.forEach((release, nth) => {
    const [level, outcome] = release.split(" ") as ["outer" | "inner", "ok" | "fail" | "info"];
    script.asks("a#0", "k", 20 + nth, { f: "release", hold: holds[level], outcome, ended: 20.5 + nth });
  });
  script.grant("a#0", "k", 30, 31, { thread: "t", count: 2 });
  expect(verdicts(script).reentry).toBe(verdict);
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

it.each([
  { end: "fail", verdict: "violation" },
  // Each acquire with an unknown end may have had the lock for a lease.
  { end: "info", verdict: "unknown" },
] as const)("a free lock beside refusals and acquires that end with $end is $verdict", ({ end, verdict }) => {
  const script = new Script({ k: {} });
  script.hold("a#0", "k", 10, 20);
  for (let at = 30; at < 8_000; at += 1_100) {
    script.asks("b#0", "k", at, { waitMs: 1_000, outcome: "fail", ended: at + 1_000 });
    script.asks("c#0", "k", at + 500, { waitMs: 1_000, outcome: end, ended: at + 1_500 });
  }
  expect(verdicts(script).handover).toBe(verdict);
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

it("orders holders without tokens by their grants: the older one is stale, also where its first write comes late", () => {
  const script = new Script({ k: { kind: "naive" } });
  const older = script.grant("a#0", "k", 1, 2);
  const newer = script.grant("b#0", "k", 10, 11);
  script.write("k", newer, 20, 0);
  script.write("k", older, 21, 1);
  script.write("k", newer, 22, 2);
  script.write("k", older, 23, 3);
  const [effect] = judge(historyOf(script.records), { only: ["effect"] });
  expect(effect?.examples.map(({ text }) => text.slice(0, text.indexOf(" was accepted")))).toEqual([
    `k: a write of ${older}`,
    `k: a write of ${older}`,
  ]);
});

it.each([
  { between: false, verdict: "pass" },
  { between: true, verdict: "violation" },
])("nested holds without tokens are judged as one, another's write between ($between): $verdict", (row) => {
  const script = new Script({ k: { kind: "reentrant" } });
  const thread = { thread: "t" };
  const outer = script.grant("a#0", "k", 1, 2, thread);
  script.write("k", outer, 5, 0);
  const inner = script.grant("a#0", "k", 11, 12, thread);
  if (row.between) script.write("k", script.grant("b#0", "k", 6, 7), 13, 1);
  script.write("k", inner, 14, row.between ? 2 : 1);
  script.write("k", outer, 20, row.between ? 3 : 2);
  expect(verdicts(script).effect).toBe(row.verdict);
});

it.each([
  { kind: "mutex", verdict: "violation" },
  { kind: "fair", verdict: "violation" },
  { kind: "reentrant", verdict: "pass" },
  { kind: "read-write", verdict: "pass" },
] as const)(
  "two holds at a time under one name of a thread are one only where holds nest, $kind: $verdict",
  (row) => {
    const script = new Script({ k: { kind: row.kind } });
    const thread = { thread: "t" };
    const holds = [script.grant("a#0", "k", 1, 2, thread), script.grant("a#0", "k", 3, 4, thread)];
    for (const hold of holds.toReversed()) script.release("a#0", "k", hold, 10, 11);
    expect(verdicts(script).belief).toBe(row.verdict);
  },
);

it("convicts a loss that was reported after the next grant", () => {
  const script = new Script({ k: {} });
  const hold = script.grant("a#0", "k", 9, 10);
  script.hold("b#0", "k", 50, 60);
  script.lost("a#0", "k", hold, 55);
  expect(verdicts(script)).toMatchObject({ "lost-notice": "violation" });
});

it.each([
  { release: "is confirmed", outcome: "ok", told: null, lost: 0 },
  { release: "has an end that is not known", outcome: "info", told: null, lost: 0 },
  { release: "finds the hold gone", outcome: "fail", told: null, lost: 1 },
  { release: "is under way when its holder hears of the loss", outcome: "fail", told: 10.5, lost: 1 },
] as const)("a hold whose release $release counts as $lost losses, and convicts no client", (row) => {
  const script = new Script({ k: {} });
  const hold = script.grant("a#0", "k", 1, 2);
  script.asks("a#0", "k", 10, { f: "release", hold, outcome: row.outcome, ended: 11 });
  if (row.told !== null) script.lost("a#0", "k", hold, row.told);
  script.hold("b#0", "k", 20, 30);
  script.records.sort((one, other) => one.t - other.t);
  const [result] = judge(historyOf(script.records), { only: ["lost-notice"], tellsLoss: true });
  expect(result).toMatchObject({ verdict: "pass", metrics: { lost: row.lost, judged: 0 } });
});

interface Holder {
  readonly who: string;
  readonly verdict: "pass" | "violation";
  /** When the holder's worker stood still. */
  readonly paused?: readonly [from: number, to: number];
  readonly told?: number;
  readonly releases: number;
  readonly tellsLoss?: boolean;
}

const holders: readonly Holder[] = [
  { who: "that ran on without a word", releases: 1_400, verdict: "violation" },
  { who: "of a lock that never tells", releases: 1_400, tellsLoss: false, verdict: "pass" },
  { who: "that is cut off and goes by its own clock", told: 900, releases: 4_000, verdict: "pass" },
  { who: "that stood still", paused: [500, 1_300], releases: 1_400, verdict: "pass" },
  { who: "that stood still and then ran on", paused: [500, 1_300], releases: 4_000, verdict: "violation" },
  { who: "that ran on and then stood still", paused: [1_300, 4_000], releases: 4_001, verdict: "violation" },
  { who: "that had no time before it stood still", paused: [1_200, 4_000], releases: 4_001, verdict: "pass" },
  { who: "that still catches up with a pause", paused: [100, 950], releases: 2_100, verdict: "pass" },
  { who: "that has caught up with a pause", paused: [100, 950], releases: 2_300, verdict: "violation" },
];

it.each(holders)("after another was granted a holder $who: $verdict", (holder) => {
  const { paused, told, releases, tellsLoss = true, verdict } = holder;
  const script = new Script({ k: {} });
  const hold = script.grant("a#0", "k", 1, 2);
  script.hold("b#0", "k", 1_000, 1_200);
  if (paused !== undefined) {
    script.worker("a#0", "paused", paused[0]);
    script.worker("a#0", "resumed", paused[1]);
  }
  if (told !== undefined) script.lost("a#0", "k", hold, told);
  script.release("a#0", "k", hold, releases, releases + 1);
  const results = judge(historyOf(script.records), { tellsLoss, lostLateMs: 250 });
  expect(results.find(({ checker }) => checker === "lost-notice")?.verdict).toBe(verdict);
});

/** A path where a history may be written during the test. */
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
  for (const wrong of [[], [`${path}.none`], [path, path], [path, "--checker", "nothing"], [path, "--what"]])
    expect(await main(["check", ...wrong], out), wrong.join(" ")).toBe(254);
});
