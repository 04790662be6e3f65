import type { ObservedParticipant } from "@holdfast/collectors";
import { strongComponents } from "@holdfast/collectors/internal";
import { describe, expect, it } from "vitest";
import { Observatory } from "../../src/core/observatory.js";
import { FakeCollector, fakeParticipant } from "../fake-collector.js";

class Scene {
  nowMs = 1_000_000;
  readonly zoo = new FakeCollector("zookeeper");
  readonly red = new FakeCollector("redis");
  readonly observatory = new Observatory(
    [
      { name: "zoo", collector: this.zoo },
      { name: "red", collector: this.red },
    ],
    { now: () => this.nowMs },
  );

  /** Lets `holder` hold `key`, and `waiter` wait for it. */
  contend(
    collector: FakeCollector,
    key: string,
    holder: Partial<ObservedParticipant>,
    waiter: Partial<ObservedParticipant>,
    more = {},
  ): void {
    collector.put({
      key,
      holders: [fakeParticipant({ entry: `${key} h`, ...holder })],
      waiters: [fakeParticipant({ entry: `${key} w`, position: 0, ...waiter })],
      oldestWait: { atMs: this.nowMs - 10_000, provenance: "exact" },
      ...more,
    });
  }

  /** Refreshes the graph twice, 2 s apart. */
  async look(between: () => void = () => {}): Promise<void> {
    await this.observatory.graph.refresh(0);
    between();
    this.nowMs += 2_000;
    await this.observatory.graph.refresh(0);
    this.observatory.findings.refresh();
  }

  findings(): { kind: string; severity: string; evidence: string }[] {
    return this.observatory.findings.rows();
  }

  [Symbol.dispose](): void {
    this.observatory.close();
  }
}

const a = { actor: "0xa", session: "0xa" };
const b = { actor: "0xb", session: "0xb" };
/** A thread of the Redisson client with the id `client`. */
const threadOf = (client: string, thread: number) => ({
  actor: `${client}:${thread}`,
  session: client,
  library: "redisson" as const,
});

const identity = (pid: number) => ({ identity: { label: "pay", host: "h", pid } });
/** Two processes, each with a session at either cluster: the second one waits for the first at ZooKeeper. */
const firstForSecond = [
  { ...a, ...identity(1) },
  { ...b, ...identity(2) },
] as const;
/** The first process waits for the second one at Redis. */
const secondForFirst = [
  { actor: "u:9", session: "u", ...identity(2) },
  { actor: "v:4", session: "v", ...identity(1) },
] as const;

describe("waits and deadlocks", () => {
  it("two sessions that wait for each other are a possible deadlock after two looks, not after one", async () => {
    using scene = new Scene();
    scene.contend(scene.zoo, "/1", a, b);
    scene.contend(scene.zoo, "/2", b, a);
    await scene.observatory.graph.refresh(0);
    expect((await scene.observatory.waits()).cycles).toEqual([]);
    await scene.look();
    const { cycles, edges, actors } = await scene.observatory.waits();
    expect(cycles).toMatchObject([{ certainty: "possible", resolvesMs: null }]);
    expect(cycles[0]?.lockIds).toHaveLength(2);
    expect(edges).toHaveLength(2);
    expect(actors.map(({ waiters }) => waiters)).toEqual([1, 1]);
    expect(scene.findings()).toMatchObject([{ kind: "deadlock-suspected", severity: "warning" }]);
    expect(scene.findings()[0]?.evidence).toContain("waits for /1, held by ");
    expect(scene.findings()[0]?.evidence).toContain("Possible only: the holder may be another thread");
  });

  it("two threads of Redisson that wait for each other are a certain one, also of one process", async () => {
    using scene = new Scene();
    scene.contend(scene.red, "r1", threadOf("u", 1), threadOf("u", 2));
    scene.contend(scene.red, "r2", threadOf("u", 2), threadOf("u", 1));
    await scene.look();
    expect((await scene.observatory.waits()).cycles).toMatchObject([{ certainty: "certain" }]);
    expect(scene.findings()).toMatchObject([{ severity: "critical" }]);
    expect(scene.findings()[0]?.evidence).toContain("Certain: each of them is one thread");
  });

  it("a certain one stands on, and no wait is left out, after the clock of this process was set back by an hour", async () => {
    using scene = new Scene();
    scene.contend(scene.red, "r1", threadOf("u", 1), threadOf("v", 2));
    scene.contend(scene.red, "r2", threadOf("v", 2), threadOf("u", 1));
    await scene.look();
    scene.nowMs -= 3_600_000;
    await scene.look();
    const { cycles, edges } = await scene.observatory.waits();
    expect(cycles).toMatchObject([{ certainty: "certain" }]);
    expect(edges).toHaveLength(2);
    expect(scene.findings()).toMatchObject([{ severity: "critical" }]);
  });

  it("a certain one stands on, since the same moment, while its locks cannot be read", async () => {
    using scene = new Scene();
    scene.contend(scene.red, "r1", threadOf("u", 1), threadOf("v", 2));
    scene.contend(scene.red, "r2", threadOf("v", 2), threadOf("u", 1));
    await scene.look();
    const [before] = scene.observatory.findings.rows();
    scene.red.failure = new Error("BUSY");
    await scene.look();
    expect(scene.observatory.findings.rows()).toEqual([before]);
    const { cycles, blind } = await scene.observatory.waits();
    expect(cycles).toMatchObject([{ certainty: "certain" }]);
    expect(blind).toHaveLength(2);
  });

  it("a lock that was read before the clock of this process was set back is read again, since the age of that reading is not known", async () => {
    using scene = new Scene();
    scene.contend(scene.red, "r1", a, b);
    await scene.observatory.graph.refresh(0);
    scene.nowMs -= 3_600_000;
    const reads = scene.red.detailReads;
    await scene.observatory.graph.refresh(0);
    expect(scene.red.detailReads).toBe(reads + 1);
  });

  it("a wait that began in the future, as the clock of the servers is ahead, is one of unknown age and is shown", async () => {
    using scene = new Scene();
    const oldestWait = { atMs: scene.nowMs + 30_000, provenance: "exact" as const };
    scene.contend(scene.zoo, "/1", a, b, { oldestWait });
    expect((await scene.observatory.waits()).edges).toHaveLength(1);
    await scene.observatory.graph.refresh(1_000);
    scene.nowMs += 30_000;
    scene.contend(scene.zoo, "/2", b, a, { oldestWait: { atMs: scene.nowMs, provenance: "exact" } });
    await scene.observatory.graph.refresh(1_000);
    expect((await scene.observatory.waits()).edges).toHaveLength(2);
  });

  it("other threads of these processes make none of it", async () => {
    using scene = new Scene();
    scene.contend(scene.red, "r1", threadOf("u", 1), threadOf("v", 2));
    scene.contend(scene.red, "r2", threadOf("v", 3), threadOf("u", 4));
    await scene.look();
    expect((await scene.observatory.waits()).cycles).toMatchObject([{ certainty: "possible" }]);
    expect(scene.findings()).toMatchObject([{ severity: "warning" }]);
  });

  it("a certain one stays certain when sessions and permits are tangled up with it", async () => {
    using scene = new Scene();
    scene.contend(scene.red, "r1", threadOf("u", 1), threadOf("v", 2));
    scene.contend(scene.red, "r2", threadOf("v", 2), threadOf("u", 1));
    scene.contend(scene.red, "s", threadOf("u", 1), threadOf("w", 3), { kind: "semaphore" });
    scene.contend(scene.red, "r3", threadOf("w", 3), threadOf("u", 1));
    await scene.look();
    const { cycles } = await scene.observatory.waits();
    expect(cycles.map(({ certainty, lockIds }) => [certainty, lockIds.length])).toEqual(
      expect.arrayContaining([["certain", 2]]),
    );
    expect(cycles.filter(({ certainty }) => certainty === "certain")).toHaveLength(1);
  });

  it.each([
    ["owners of ours, each of which is one grant", { library: "holdfast" as const }, {}],
    ["permits, of which any other would do", {}, { kind: "permit-semaphore" as const }],
    ["readers that hold beside each other", { mode: "shared" as const }, {}],
  ])("%s, are never certain", async (_, person, lock) => {
    using scene = new Scene();
    scene.contend(
      scene.red,
      "r1",
      { ...threadOf("u", 1), ...person },
      { ...threadOf("v", 2), ...person },
      lock,
    );
    scene.contend(
      scene.red,
      "r2",
      { ...threadOf("v", 2), ...person },
      { ...threadOf("u", 1), ...person },
      lock,
    );
    await scene.look();
    expect((await scene.observatory.waits()).cycles).toMatchObject([{ certainty: "possible" }]);
  });

  it("is over as soon as another waits in the place of one of them, though the row looks the same", async () => {
    using scene = new Scene();
    scene.contend(scene.red, "r1", threadOf("u", 1), threadOf("v", 2), { version: "1" });
    scene.contend(scene.red, "r2", threadOf("v", 2), threadOf("u", 1), { version: "2" });
    await scene.look();
    expect(scene.findings()).toHaveLength(1);
    scene.contend(scene.red, "r2", threadOf("v", 2), threadOf("w", 7), { version: "2" });
    await scene.look();
    expect(scene.findings()).toEqual([]);
  });

  it("is none when the same sessions stand there with other entries in the second look", async () => {
    using scene = new Scene();
    scene.contend(scene.zoo, "/1", a, b);
    scene.contend(scene.zoo, "/2", b, a);
    await scene.look(() => scene.contend(scene.zoo, "/2", { ...b, entry: "new" }, a, { version: "new" }));
    expect((await scene.observatory.waits()).cycles).toEqual([]);
    expect(scene.findings()).toEqual([]);
  });

  it("is over when one of them is gone, and stays in the history", async () => {
    using scene = new Scene();
    scene.contend(scene.zoo, "/1", a, b);
    scene.contend(scene.zoo, "/2", b, a);
    await scene.look();
    scene.zoo.remove("/2");
    await scene.look();
    expect(scene.findings()).toEqual([]);
    expect(scene.observatory.findings.all().past).toMatchObject([{ kind: "deadlock-suspected" }]);
  });

  it("a wait with a deadline makes a circle that ends by itself", async () => {
    using scene = new Scene();
    scene.contend(scene.zoo, "/1", a, { ...b, deadlineMs: 1_060_000 });
    scene.contend(scene.zoo, "/2", b, a);
    await scene.look();
    expect((await scene.observatory.waits()).cycles).toMatchObject([{ resolvesMs: 1_060_000 }]);
  });

  it("across clusters it is possible, by what the processes say of themselves", async () => {
    using scene = new Scene();
    scene.contend(scene.zoo, "/1", ...firstForSecond);
    scene.contend(scene.red, "r", ...secondForFirst);
    await scene.look();
    const { cycles, actors } = await scene.observatory.waits();
    expect(cycles).toMatchObject([{ certainty: "possible" }]);
    expect(scene.findings()).toMatchObject([{ severity: "warning" }]);
    // The participants have the same names as in the finding.
    expect(new Set(actors.map(({ label }) => label))).toEqual(new Set(["pay (h pid 1)", "pay (h pid 2)"]));
    expect(scene.findings()[0]?.evidence).toContain("pay (h pid 1) waits for ");
  });

  it("is not made of the last reading of a lock that cannot be read and a newer one of another", async () => {
    using scene = new Scene();
    scene.contend(scene.zoo, "/1", ...firstForSecond);
    await scene.look();
    scene.zoo.failure = new Error("down");
    // The reading is used for 30 s without another look, because the row looks the same.
    scene.nowMs += 31_000;
    scene.contend(scene.red, "r", ...secondForFirst);
    await scene.look();
    expect((await scene.observatory.waits()).cycles).toEqual([]);
  });

  it("across clusters there is none without an identity", async () => {
    using scene = new Scene();
    scene.contend(scene.zoo, "/1", a, b);
    scene.contend(scene.red, "r", b, a);
    await scene.look();
    expect((await scene.observatory.waits()).cycles).toEqual([]);
  });

  it("within one session it is possible at two locks, and everyday life at one", async () => {
    using scene = new Scene();
    scene.contend(scene.zoo, "/1", a, a);
    await scene.look();
    expect((await scene.observatory.waits()).cycles).toEqual([]);
    scene.contend(scene.zoo, "/2", a, a);
    await scene.look();
    expect((await scene.observatory.waits()).cycles).toMatchObject([{ certainty: "possible" }]);
  });

  it("permits of one semaphore, of which any will do, make none", async () => {
    using scene = new Scene();
    scene.zoo.put({
      key: "/s",
      kind: "semaphore",
      holders: [fakeParticipant({ entry: "1", ...a }), fakeParticipant({ entry: "2", ...b })],
      waiters: [fakeParticipant({ entry: "3", ...a }), fakeParticipant({ entry: "4", ...b })],
      oldestWait: { atMs: 1, provenance: "exact" },
    });
    await scene.look();
    expect((await scene.observatory.waits()).cycles).toEqual([]);
  });

  it("says whose waits it cannot see", async () => {
    using scene = new Scene();
    scene.red.put({ key: "r", state: "contended", waiterCount: 3, waiterUnit: "connections" });
    scene.contend(scene.zoo, "/1", a, b);
    scene.zoo.failure = new Error("down");
    const { blind } = await scene.observatory.waits();
    expect(blind).toMatchObject([
      { cluster: "red", message: expect.stringContaining("plain Redisson locks") },
      { cluster: "zoo", message: expect.stringContaining("/1: could not be read") },
    ]);
  });

  it("says how many waiters of a long queue it leaves out, also of one that is not read anew", async () => {
    using scene = new Scene();
    const waiters = Array.from({ length: 203 }, (_, at) =>
      fakeParticipant({ entry: `w${at}`, position: at }),
    );
    scene.contend(scene.zoo, "/long", a, b, { waiters });
    const blind = [{ cluster: "zoo", message: "zoo /long: 3 of 203 waiters are not shown here" }];
    const first = await scene.observatory.waits();
    expect(first.edges).toHaveLength(200);
    expect(first.blind).toEqual(blind);
    scene.nowMs += 2_000;
    expect((await scene.observatory.waits()).blind).toEqual(blind);
    expect(scene.zoo.detailReads).toBe(1);
  });

  it("shows waits that are too young to be looked at unasked, also while such a look is under way, and what time it is", async () => {
    using scene = new Scene();
    const { graph } = scene.observatory;
    scene.contend(scene.zoo, "/1", a, b, { oldestWait: { atMs: scene.nowMs, provenance: "exact" } });
    const unasked = graph.refresh(2_000);
    expect((await scene.observatory.waits()).edges).toHaveLength(1);
    await unasked;
    scene.nowMs += 1_000;
    await graph.refresh(2_000);
    const { edges, nowMs } = await scene.observatory.waits();
    expect(edges).toHaveLength(1);
    expect(nowMs).toBe(scene.nowMs);
    scene.nowMs += 990;
    // The edges are kept for 2 s after the first reading, and not longer.
    scene.zoo.remove("/1");
    expect((await scene.observatory.waits()).edges).toHaveLength(1);
    scene.nowMs += 10;
    expect((await scene.observatory.waits()).edges).toEqual([]);
  });

  it("reads a lock that looks the same once, and 200 of many thousands", async () => {
    using scene = new Scene();
    for (let n = 0; n < 1_000; n++) scene.contend(scene.zoo, `/${n}`, { actor: `h${n}` }, { actor: `w${n}` });
    await scene.look();
    expect(scene.zoo.detailReads).toBe(200);
    scene.zoo.put({ key: "/0", version: "other" });
    await scene.look();
    expect(scene.zoo.detailReads).toBe(201);
  });

  it("a chain of ten thousand is walked without a deep stack", () => {
    const graph = new Map<string, Set<string>>();
    for (let n = 0; n < 10_000; n++) graph.set(`${n}`, new Set([`${n + 1}`]));
    expect(strongComponents(graph)).toEqual([]);
    graph.set("10000", new Set(["0"]));
    expect(strongComponents(graph)[0]).toHaveLength(10_001);
  });
});

describe("very many elections", () => {
  it("whose candidates wait for as long as the leaders live hide no deadlock", async () => {
    using scene = new Scene();
    const yesterday = { atMs: scene.nowMs - 86_400_000, provenance: "exact" };
    for (let at = 0; at < 250; at++)
      scene.contend(
        scene.zoo,
        `/elections/${at}`,
        { actor: `l${at}` },
        { actor: `c${at}` },
        { kind: "leader-election", oldestWait: yesterday },
      );
    scene.contend(scene.zoo, "/x", a, b);
    scene.contend(scene.zoo, "/y", b, a);
    await scene.look();
    expect(scene.findings().map(({ kind }) => kind)).toContain("deadlock-suspected");
  });
});
