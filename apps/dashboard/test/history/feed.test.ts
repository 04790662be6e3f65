import type { ObservedSession } from "@holdfast/collectors";
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from "vitest";
import { HistoryFeed } from "../../src/history/feed.js";
import type { LastingHistory } from "../../src/history/lasting-history.js";
import type { Change } from "../../src/history/messages.js";
import { FakeCollector, fakeParticipant } from "../fake-collector.js";

let collector: FakeCollector;
let changes: Change[];
let feed: HistoryFeed;

/** Makes a new feed that writes its changes into `changes`. */
function follow(followed: FakeCollector): void {
  changes = [];
  const history = { add: (change: Change) => changes.push(change) } as unknown as LastingHistory;
  feed = new HistoryFeed(history, { name: "zoo", collector: followed });
}

beforeEach(() => {
  vi.useFakeTimers({ now: 1_700_000_000_000 });
  collector = new FakeCollector();
  follow(collector);
});
afterEach(() => {
  feed.close();
  vi.useRealTimers();
});

const owner = { session: "0x1", identity: null, token: null };

function session(state: ObservedSession["state"]): void {
  collector.contactList = [{ id: "0x1", state, timeoutMs: 10_000, endsMs: null }];
}

function hold(): void {
  collector.emit({
    type: "granted",
    key: "/a",
    entry: "e1",
    atMs: Date.now(),
    token: null,
    heldMs: null,
    exact: true,
    owner,
  });
}

function release(end?: "unknown"): void {
  const told = { key: "/a", entry: "e1", atMs: Date.now(), token: null, heldMs: 1, owner };
  collector.emit({ type: "released", ...told, ...(end === undefined ? {} : { end }) });
}

/** The explanation that the feed added after the end of the hold. */
async function explained(): Promise<unknown> {
  await vi.advanceTimersByTimeAsync(40_000);
  return changes.find(({ type }) => type === "explained");
}

it("a node that went while its session lived on was released", async () => {
  session("connected");
  hold();
  await vi.advanceTimersByTimeAsync(20_000);
  release();
  expect(await explained()).toMatchObject({ key: "/a", reason: "released" });
});

it("a node whose session had no connection for a while before it went, and has none now, ended with its session", async () => {
  session("connected");
  hold();
  await vi.advanceTimersByTimeAsync(10_000);
  session("suspended");
  await vi.advanceTimersByTimeAsync(10_000);
  release();
  expect(await explained()).toMatchObject({ key: "/a", reason: "session-ended" });
});

it("a client that released and left at once is not taken for one whose session ended", async () => {
  session("connected");
  hold();
  await vi.advanceTimersByTimeAsync(9_000);
  release();
  session("suspended");
  expect(await explained()).toBeUndefined();
});

it("where the servers do not tell of sessions, or the end was found by listing, the reason stays unknown", async () => {
  session("unknown");
  hold();
  await vi.advanceTimersByTimeAsync(10_000);
  release();
  expect(await explained()).toBeUndefined();
  session("suspended");
  hold();
  await vi.advanceTimersByTimeAsync(20_000);
  release("unknown");
  expect(await explained()).toBeUndefined();
});

it("an end that was forced from here stays one, though its session lives on", async () => {
  session("connected");
  hold();
  release();
  feed.forced("/a", ["e1"]);
  await vi.advanceTimersByTimeAsync(40_000);
  expect(changes.filter(({ type }) => type === "explained")).toMatchObject([{ reason: "forced" }]);
  hold();
  feed.forced("/a", ["e1"]);
  release();
  await vi.advanceTimersByTimeAsync(40_000);
  expect(changes.filter(({ type }) => type === "ended").at(-1)).toMatchObject({ reason: "forced" });
  expect(changes.some((each) => each.type === "explained" && each.reason === "released")).toBe(false);
});

it("a grant that was only found by a reading is not exact in the history", () => {
  hold();
  collector.emit({
    ...{ type: "granted", key: "/b", entry: "e1", atMs: Date.now(), token: null, heldMs: null, owner },
    exact: false,
  });
  const begun = changes.filter((each) => each.type === "begun");
  expect(begun).toMatchObject([
    { key: "/a", exact: true },
    { key: "/b", exact: false },
  ]);
});

it("holds from before the feed listened are reported, and after them that all holds have been reported", async () => {
  feed.close();
  const early = new FakeCollector();
  early.put({ key: "/early", holders: [fakeParticipant({ entry: "h1", session: "0x2" })] });
  follow(early);
  await vi.advanceTimersByTimeAsync(6_000);
  expect(changes.map(({ type }) => type)).toEqual(["begun", "complete"]);
  expect(changes[0]).toMatchObject({ key: "/early", entry: "h1", found: true, owner: { session: "0x2" } });
});

it("a collector that throws once as it lists is asked again, and then all holds have been reported", async () => {
  feed.close();
  const early = new FakeCollector();
  const lock = early.put({ key: "/early", holders: [fakeParticipant({ entry: "h1", session: "0x2" })] });
  const locks = vi
    .fn(() => [lock])
    .mockImplementationOnce(() => {
      throw new Error("not yet");
    });
  early.locks = locks;
  const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
  onTestFinished(() => warned.mockRestore());
  follow(early);
  await vi.advanceTimersByTimeAsync(6_000);
  expect(warned).toHaveBeenCalledTimes(1);
  expect(changes.map(({ type }) => type)).toEqual(["begun", "complete"]);
});

/** A collector with a lock of seven holders, h0 to h6. The lock's row shows five of them. */
function withCrowded(): FakeCollector {
  const crowded = new FakeCollector();
  const holders = Array.from({ length: 7 }, (_, at) => fakeParticipant({ entry: `h${at}` }));
  const lock = crowded.put({ key: "/pool", holders });
  crowded.locks = () => [{ ...lock, holders: holders.slice(0, 5) }];
  return crowded;
}

it("all holders of a lock from before the feed listened are reported, more than its row shows, before it is said that all have been", async () => {
  feed.close();
  const early = withCrowded();
  follow(early);
  await vi.advanceTimersByTimeAsync(6_000);
  const begun = changes.flatMap((each) => (each.type === "begun" ? [each.entry] : []));
  expect([...new Set(begun)]).toEqual(["h0", "h1", "h2", "h3", "h4", "h5", "h6"]);
  expect(changes.at(-1)?.type).toBe("complete");
});

it("while a lock with many holders cannot be read it is not said that all holds have been reported", async () => {
  feed.close();
  const early = withCrowded();
  const { detail } = early;
  early.detail = () => Promise.reject(new Error("no answer"));
  follow(early);
  await vi.advanceTimersByTimeAsync(6_000);
  expect(changes.map(({ type }) => type)).not.toContain("complete");
  early.detail = detail;
  await vi.advanceTimersByTimeAsync(5_000);
  expect(changes.flatMap((each) => (each.type === "begun" ? [each.entry] : []))).toContain("h6");
  expect(changes.at(-1)?.type).toBe("complete");
});

it.each([
  ["that is too big, which is never listed, holds back no other root's", "too-big", true],
  ["that is still listed is waited for", "syncing", false],
] as const)(
  "before it is said that all holds have been reported, a root %s",
  async (_what, state, complete) => {
    feed.close();
    const early = new FakeCollector();
    const [first] = early.sourceList;
    const other = { ...first, source: "watch /big", state, coverage: 0 } as (typeof early.sourceList)[number];
    early.sourceList = [...early.sourceList, other];
    follow(early);
    await vi.advanceTimersByTimeAsync(6_000);
    expect(changes.some(({ type }) => type === "complete")).toBe(complete);
  },
);

it("waiters are counted every five seconds", async () => {
  collector.put({ key: "/q", waiterCount: 3, state: "contended", readMs: Date.now() });
  await vi.advanceTimersByTimeAsync(5_000);
  expect(changes).toContainEqual({
    ...{ type: "waiting", cluster: "zoo", backend: "zookeeper", key: "/q", waiters: 3, forMs: 5_000 },
  });
});

it("a hold that is no longer looked at has an end that was not seen, and no reason", () => {
  hold();
  collector.emit({ type: "unwatched", key: "/a", entry: "e1" });
  expect(changes.filter(({ type }) => type === "ended")).toMatchObject([
    { key: "/a", entry: "e1", seen: false, heldMs: null, reason: "unknown" },
  ]);
});

it("a forced end says nothing of the next hold of the same owner, such as a thread of Redisson", async () => {
  hold();
  release();
  feed.forced("/a", ["e1"]);
  hold();
  await vi.advanceTimersByTimeAsync(5_000);
  release();
  const ends = changes.filter(({ type }) => type === "ended") as { reason?: string }[];
  expect(ends).toHaveLength(2);
  expect(ends[1]?.reason).not.toBe("forced");
});

it("counts no waiters that are not seen any more, and no time that a clock took back", async () => {
  collector.put({ key: "/a", state: "contended", waiterCount: 3, readMs: Date.now() });
  await vi.advanceTimersByTimeAsync(5_000);
  const waited = () => changes.filter(({ type }) => type === "waiting") as { forMs: number }[];
  expect(waited()).toHaveLength(1);
  vi.setSystemTime(Date.now() - 3_600_000);
  collector.put({ key: "/a", state: "contended", waiterCount: 3, readMs: Date.now() });
  await vi.advanceTimersByTimeAsync(5_000);
  expect(waited().every(({ forMs }) => forMs >= 0)).toBe(true);
  const before = waited().length;
  await vi.advanceTimersByTimeAsync(600_000);
  expect(waited().length - before).toBeLessThanOrEqual(2);
});

it("a collector that throws is a warning, and the feed goes on once it does not", async () => {
  const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
  onTestFinished(() => warned.mockRestore());
  const broken = new FakeCollector();
  const lock = broken.put({ key: "/a", waiterCount: 2 });
  broken.locks = () => {
    throw new Error("cannot list");
  };
  broken.figures = () => {
    throw new Error("cannot count");
  };
  feed.close();
  follow(broken);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(warned.mock.calls.map(([message]) => String(message))).toEqual([
    "zoo: the history misses something: cannot list",
    "zoo: the history misses something: cannot count",
  ]);
  broken.figures = () => [{ ...lock, readMs: Date.now() }];
  await vi.advanceTimersByTimeAsync(5_000);
  expect(changes).toMatchObject([{ type: "waiting", key: "/a", waiters: 2 }]);
});
