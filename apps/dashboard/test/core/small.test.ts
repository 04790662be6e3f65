import type { SourceStatus } from "@holdfast/collectors";
import { textMatcher } from "@holdfast/collectors/internal";
import { describe, expect, it } from "vitest";
import { MinuteLimit } from "../../src/actions/minute-limit.js";
import { FailedLogins } from "../../src/auth/failed-logins.js";
import { hashPassword, verifyPassword } from "../../src/auth/passwords.js";
import { clusterRowOf } from "../../src/core/cluster-row.js";
import { HistoryBook } from "../../src/core/history.js";
import { Kept } from "../../src/core/kept.js";
import { Observatory } from "../../src/core/observatory.js";
import { selectLocks } from "../../src/core/select-locks.js";
import { FakeCollector, fakeParticipant } from "../fake-collector.js";

it("a kept answer is asked for anew when it is old, and when the clock was set back", async () => {
  let nowMs = 1_000_000;
  let asked = 0;
  const kept = new Kept(
    async () => ++asked,
    1_000,
    () => nowMs,
  );
  expect([await kept.get(), await kept.get()]).toEqual([1, 1]);
  nowMs += 1_000;
  expect(await kept.get()).toBe(2);
  nowMs -= 600_000;
  expect([await kept.get(), await kept.get()]).toEqual([3, 3]);
});

it("a limit for each minute begins a new minute where the clock was set back", () => {
  const limit = new MinuteLimit(1);
  expect([limit.lets(3_600_000), limit.lets(3_600_001)]).toEqual([true, false]);
  expect([limit.lets(1_000), limit.lets(1_001)]).toEqual([true, false]);
});

describe("names by part and by glob", () => {
  it.each([
    ["lock", "/a/locks", true],
    ["/a/*", "/a/b/c", true],
    ["/a/*", "/b/a/", false],
    ["*a*b*", "xxaxxb", true],
    ["*a*b*", "xxbxxa", false],
    ["a?c", "abc", true],
    ["a?c", "ac", false],
    ["ab*ba", "aba", false],
    ["*?", "", false],
    ["*.*", "axb", false],
    ["", "anything", true],
  ])("%j and %j: %s", (glob, name, expected) => {
    expect(textMatcher(glob)(name)).toBe(expected);
  });

  it("the worst that can be typed takes no time", () => {
    const matches = textMatcher("*a".repeat(256));
    const since = process.cpuUsage();
    for (let n = 0; n < 1_000; n++) matches(`${"a".repeat(200)}b`);
    // This takes milliseconds. A matcher that tries all ways would not end within a year.
    expect(process.cpuUsage(since).user / 1_000).toBeLessThan(5_000);
  });
});

describe("the state of a cluster", () => {
  const source = (name: string, state: SourceStatus["state"], coverage = 1): SourceStatus => ({
    source: name,
    state,
    coverage,
    lastSuccessMs: 5,
    nextTryMs: null,
    cost: null,
    message: null,
  });
  const idle = [source("compare", "starting", 0), source("rows", "stale", 0), source("sessions", "off", 0)];

  it.each([
    ["ok", 1, [source("watch /a", "ok"), ...idle]],
    ["syncing", 0.4, [source("scan", "syncing", 0.4), source("pubsub", "ok"), ...idle]],
    ["stale", 1, [source("watch /a", "ok"), source("watch /b", "down"), ...idle]],
    ["down", 1, [source("watch /a", "down"), ...idle]],
    ["down", 0, [source("watch /a", "denied", 0), source("watch /b", "too-big", 0)]],
    ["starting", 0, [source("watch /a", "starting", 0), ...idle]],
    ["ok", 0, []],
  ] as const)("is %s with coverage %d by the sources of the list alone", (state, coverage, sources) => {
    const collector = new FakeCollector();
    collector.sourceList = [...sources];
    expect(clusterRowOf({ name: "c", collector })).toMatchObject({ state, coverage });
  });

  it("is as old as the part of the list that has not been read for longest, and as new as its newest while all are read", () => {
    const collector = new FakeCollector();
    const read = (name: string, state: SourceStatus["state"], lastSuccessMs: number | null) => ({
      ...source(name, state),
      lastSuccessMs,
    });
    const age = (...sources: SourceStatus[]) => {
      collector.sourceList = sources;
      return clusterRowOf({ name: "c", collector }).lastSuccessMs;
    };
    expect(age(read("watch /a", "ok", 7), read("watch /b", "ok", 9))).toBe(9);
    expect(age(read("watch /a", "ok", 9), read("watch /b", "stale", 3), read("rows", "stale", 1))).toBe(3);
    expect(age(read("watch /a", "stale", 4), read("watch /b", "stale", 3))).toBe(3);
    expect(age(read("watch /a", "ok", 9), read("watch /b", "down", null))).toBe(9);
    expect(age(read("watch /a", "down", null))).toBeNull();
  });
});

describe("a page of very many locks", () => {
  it("is looked for in slices, between which others get their turn, and rows are made for the page alone", async () => {
    const collector = new FakeCollector();
    for (let n = 0; n < 1_500; n++) collector.put({ key: `/${n}`, waiterCount: n });
    collector.figures = function* (this: FakeCollector) {
      for (const lock of this.details.values()) {
        const untilMs = performance.now() + 0.1;
        while (performance.now() < untilMs);
        yield lock;
      }
    };
    let made = 0;
    const get = collector.get.bind(collector);
    collector.get = (key) => {
      made += 1;
      return get(key);
    };
    let turns = 0;
    const turning = setInterval(() => {
      turns += 1;
    }, 0);
    const page = { sort: "waiters", limit: 3, after: null, nowMs: 0 } as const;
    const { rows, total } = await selectLocks([{ name: "c", collector }], {}, page);
    clearInterval(turning);
    expect(rows.map(({ lock }) => lock.key)).toEqual(["/1499", "/1498", "/1497"]);
    expect(total).toBe(1_500);
    expect(made).toBe(3);
    expect(turns).toBeGreaterThan(5);
  });
});

describe("history", () => {
  it("keeps the last turns of the locks that moved last", () => {
    const book = new HistoryBook({ sinceMs: 0, mostLocks: 3, mostRows: 2 });
    for (const key of ["a", "b", "c", "a", "d"])
      for (let n = 0; n < 5; n++)
        book.add({ type: "granted", key, entry: `${n}`, atMs: n, token: null, heldMs: null });
    expect(book.size).toBe(3);
    expect(book.of("b").rows).toEqual([]);
    expect(book.of("a").rows.map(({ entry }) => entry)).toEqual(["4", "3"]);
  });

  it("says of a lock that may have been forgotten that it is known since the last turn that was forgotten", () => {
    const book = new HistoryBook({ sinceMs: 10, mostLocks: 2 });
    const granted = (key: string, atMs: number): void =>
      book.add({ type: "granted", key, entry: "h", atMs, token: null, heldMs: null });
    const since = (): number[] => ["a", "b", "c"].map((key) => book.of(key).sinceMs);
    granted("a", 20);
    granted("b", 30);
    expect(since()).toEqual([10, 10, 10]);
    granted("c", 40);
    expect(since()).toEqual([20, 10, 10]);
    granted("a", 50);
    expect(since()).toEqual([20, 30, 10]);
  });
});

describe("passwords", () => {
  it("are hashed with a new salt each time and found again", async () => {
    const [one, two] = await Promise.all([hashPassword("correct horse"), hashPassword("correct horse")]);
    expect(one).not.toBe(two);
    expect(await verifyPassword("correct horse", one)).toBe(true);
    expect(await verifyPassword("correct horsf", one)).toBe(false);
    expect(await verifyPassword("correct horse", "plain")).toBe(false);
    expect(await verifyPassword("correct horse", one.replace("ln=15", "ln=30"))).toBe(false);
  });

  it("wrong ones are counted per address, in a window, in bounded memory", () => {
    let nowMs = 0;
    const failed = new FailedLogins({ most: 2, windowMs: 1_000, now: () => nowMs });
    failed.add("a");
    expect(failed.blockedMs("a")).toBe(0);
    failed.add("a");
    nowMs = 400;
    expect(failed.blockedMs("a")).toBe(600);
    nowMs = 1_000;
    expect(failed.blockedMs("a")).toBe(0);
    failed.add("a");
    expect(failed.blockedMs("a")).toBe(0);
    failed.add("a");
    expect(failed.blockedMs("a")).toBe(1_000);
    for (let n = 0; n < 20_000; n++) {
      failed.add(`not tried ${n}`);
      failed.takeBack(`not tried ${n}`);
    }
    expect(failed.blockedMs("a")).toBe(1_000);
    for (let n = 0; n < 20_000; n++) failed.add(`other ${n}`);
    expect(failed.blockedMs("a")).toBe(0);
  });
});

describe("long holds on Redis", () => {
  it("are findings, worse with waiters; holds of unknown age are none, nor are holds on ZooKeeper, whose collector judges itself", () => {
    const red = new FakeCollector("redis");
    const zoo = new FakeCollector("zookeeper");
    const old = { atMs: 0, provenance: "at-least" as const };
    const holders = [fakeParticipant({ entry: "h" })];
    const seen = { holders, readMs: 300_000 };
    red.put({ key: "long", ...seen, oldestHold: old });
    red.put({ key: "stuck", ...seen, oldestHold: old, waiterCount: 2 });
    red.put({ key: "young", ...seen, oldestHold: { atMs: 299_000, provenance: "exact" }, waiterCount: 2 });
    red.put({ key: "unknown", ...seen, waiterCount: 2 });
    red.put({ key: "not seen for long", holders, oldestHold: old, waiterCount: 2, readMs: 299_999 });
    zoo.put({ key: "/old", holders, oldestHold: old });
    const observatory = new Observatory(
      [
        { name: "red", collector: red },
        { name: "zoo", collector: zoo },
      ],
      { now: () => 300_000 },
    );
    observatory.findings.refresh();
    expect(observatory.findings.rows().map(({ kind, object }) => [kind, object])).toEqual([
      ["stuck-with-waiters", "stuck"],
      ["long-hold", "long"],
    ]);
    observatory.close();
  });
});
