import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { CollectorEvent } from "../../src/index.js";
import { type Act, actUpon, tryOutUpon } from "../../src/kit/action.js";
import { Attention } from "../../src/kit/attention.js";
import { FindingTimes } from "../../src/kit/finding-times.js";
import { Listeners } from "../../src/kit/listeners.js";
import { SourceState } from "../../src/kit/source-state.js";
import { PolledSource } from "../../src/redis/polled-source.js";

const event: CollectorEvent = { type: "changed", key: "/locks/a" };

describe("an act", () => {
  it("that was done is known to be, also where its lock cannot be read any more", async () => {
    let reads = 0;
    const act: Act<string> = {
      gone: [],
      read: async () => {
        if (++reads === 2) throw new Error("away");
        return "a lock";
      },
      rowOf: () => ({}) as never,
      attempt: async () => ({ tried: true, outcome: "done", effects: ["ended"], endedHolds: ["e1"] }),
    };
    const request = { action: "force-release", key: "a", entry: null, expectedVersion: "e1" } as const;
    const result = await actUpon(act, { ...request, dryRun: false });
    expect(result).toMatchObject({ outcome: "done", endedHolds: ["e1"], after: null });
    expect(result.effects).toEqual(["ended", "The lock could not be read after that: away."]);
  });
});

describe("an act upon a lock that cannot be read", () => {
  it("says that the lock was unread, and tries nothing", async () => {
    let attempts = 0;
    const act: Act<string> = {
      gone: [],
      read: async () => Promise.reject(new Error("away")),
      rowOf: () => ({}) as never,
      attempt: async () => {
        attempts += 1;
        return { tried: true, outcome: "done", effects: [] };
      },
    };
    const request = { action: "force-release", key: "a", entry: null, expectedVersion: "e1" } as const;
    const result = await actUpon(act, { ...request, dryRun: false });
    expect(result).toMatchObject({ outcome: "unread", effects: ["away"] });
    expect(attempts).toBe(0);
  });
});

describe("acts that are tried out", () => {
  it("are answered each for itself where the backend refuses one of them", async () => {
    const act: Act<string> = {
      gone: [],
      read: async () => "a lock",
      rowOf: () => ({}) as never,
      attempt: async ({ action }) => {
        if (action === "evict-waiter") throw new Error("NOPERM");
        return { tried: false, outcome: "would-do", effects: ["ends"] };
      },
    };
    const trials = await tryOutUpon(
      act,
      { key: "a", version: "1" },
      [
        { action: "evict-waiter", entry: "w1" },
        { action: "force-release", entry: "h1" },
      ],
      undefined,
    );
    expect(trials).toMatchObject([
      { outcome: "denied", effects: ["NOPERM"] },
      { outcome: "would-do", effects: ["ends"] },
    ]);
  });
});

describe("listeners of a collector", () => {
  it("a listener that throws becomes a process warning, once for each error, and the listeners behind it hear the event", () => {
    const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    onTestFinished(() => warned.mockRestore());
    const listeners = new Listeners();
    const heard: CollectorEvent[] = [];
    let error = "listener broke";
    listeners.add(() => {
      throw new Error(error);
    });
    listeners.add((each) => heard.push(each));
    for (let n = 0; n < 3; n++) listeners.emit(event);
    expect(heard).toEqual([event, event, event]);
    error = "otherwise";
    listeners.emit(event);
    expect(warned.mock.calls).toEqual([
      [expect.stringMatching(/listener broke/), { type: "HoldfastWarning" }],
      [expect.stringMatching(/otherwise/), { type: "HoldfastWarning" }],
    ]);
  });

  it("a listener that was added twice is removed once by each result", () => {
    const listeners = new Listeners();
    const heard: CollectorEvent[] = [];
    const listener = (each: CollectorEvent) => heard.push(each);
    const removers = [listeners.add(listener), listeners.add(listener)];
    listeners.emit(event);
    expect(heard).toHaveLength(2);
    removers[0]?.();
    listeners.emit(event);
    expect(heard).toHaveLength(3);
  });
});

it("a source of which each success takes long is not stale as long as its answers come", () => {
  const scan = new PolledSource("scan", "SCAN", 600_000);
  scan.ok(0, "ok", null, 900_000);
  expect(scan.status(901_000)).toMatchObject({ state: "ok", lastSuccessMs: 0 });
  expect(scan.status(1_500_001)).toMatchObject({ state: "stale", lastSuccessMs: 0 });
});

it("a lock is looked at until its last viewer has gone, however the lists of viewers change", () => {
  const told: string[] = [];
  const attention = new Attention({
    looked: (key) => told.push(`looked ${key}`),
    left: (key) => told.push(`left ${key}`),
  });
  const one = attention.attend(["a", "b", "a"]);
  const other = attention.attend(["b", "c"]);
  one.update(["c"]);
  expect(attention.keys()).toEqual(["b", "c"]);
  expect(attention.keys(1)).toEqual(["b"]);
  other.end();
  expect([attention.has("b"), attention.has("c")]).toEqual([false, true]);
  one.end();
  expect(attention.keys()).toEqual([]);
  expect(told).toEqual([
    ...["looked a", "looked b", "looked b", "looked c"],
    ...["looked c", "left a", "left b", "left c"],
  ]);
});

it("a source that loses contact is down before its first success and stale after it, and one that is off stays off", () => {
  let changes = 0;
  const source = new SourceState("scan", null, () => changes++);
  expect(source.lost("no contact")).toBe(true);
  expect(source.now).toMatchObject({ state: "down", message: "no contact" });
  expect(source.lost("no contact")).toBe(false);
  expect(source.set({ state: "ok", lastSuccessMs: 5, message: null })).toBe(true);
  // A later success changes the state, but is no news.
  expect(source.set({ lastSuccessMs: 6 })).toBe(false);
  expect(source.lost("no contact", 9)).toBe(true);
  expect(source.now).toMatchObject({ state: "stale", nextTryMs: 9, lastSuccessMs: 6 });
  expect(changes).toBe(4);
  source.set({ state: "off" });
  expect(source.lost("no contact")).toBe(false);
  expect(source.now.state).toBe("off");
});

it("a finding keeps its moment from look to look, and begins anew once a look has not found it", () => {
  const found = {
    id: "no-lease a",
    kind: "no-lease",
    severity: "warning",
    object: "a",
    evidence: "",
    advice: "",
  } as const;
  const first = new FindingTimes(1_000, new Map());
  expect(first.date(found).sinceMs).toBe(1_000);
  const second = new FindingTimes(2_000, first.times);
  expect(second.date(found).sinceMs).toBe(1_000);
  expect(second.date({ ...found, id: "other", sinceMs: 500 }).sinceMs).toBe(500);
  const empty = new FindingTimes(3_000, second.times);
  expect(new FindingTimes(4_000, empty.times).date(found).sinceMs).toBe(4_000);
});
