import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ExclusiveRecipe } from "../support/curator/java-contention.js";
import { type CuratorClient, curatorVersionsInShare } from "../support/curator/java-peer.js";
import { ContentionLog } from "./contention-log.js";
import { InteropFixture } from "./fixture.js";
import { presenceFolder } from "./presence.js";

const bytes = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text));

/** Shows that each of Curator's recipes can be driven from here, as the other interop tests assume. */
describe.each(await curatorVersionsInShare())("the Java peer with Curator %s drives", (curator) => {
  let fixture: InteropFixture;
  let one: CuratorClient;
  let two: CuratorClient;

  beforeAll(async () => {
    fixture = await InteropFixture.start(curator);
    [one, two] = await Promise.all([fixture.curator(), fixture.curator()]);
  });

  afterAll(() => fixture?.close());

  /** The names of the nodes under `path`, sorted, with masked UUIDs. */
  async function names(path: string): Promise<string[]> {
    const nodes = await one.dump(path);
    return nodes
      .map((node) => node.path.slice(path.length + 1))
      .filter((name) => name !== "")
      .map((name) => name.replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "<uuid>"))
      .sort();
  }

  it("a read-write lock: the halves belong to threads, and a writer becomes a reader", async () => {
    const path = "/recipes/read-write";
    const lock = await one.readWriteLock(path, bytes("payload"));
    const written = await lock.take("write");
    // Another thread may not read beside the write, although it uses the same object. The writer's own thread may.
    expect(await lock.acquire("read", { waitMs: 50, thread: "other" })).toBe(false);
    const read = await lock.take("read");
    expect(await names(path)).toEqual(
      curator === "5.4.0"
        ? ["_c_<uuid>-__READ__0000000002", "_c_<uuid>-__WRIT__0000000000"]
        : ["_c_<uuid>-__READ__0000000000", "_c_<uuid>-__WRIT__0000000000"],
    );
    expect(await lock.participants("read")).toEqual([read?.path]);
    expect(await lock.participants("write")).toEqual([written?.path]);
    expect(read?.czxid).toBeGreaterThan(written?.czxid ?? 0n);
    for (const node of (await one.dump(path)).slice(1)) expect(node.data).toEqual(bytes("payload"));

    const others = await two.readWriteLock(path);
    expect(await others.acquire("read", { waitMs: 50 })).toBe(false);
    await lock.release("write");
    expect(await lock.holding("write")).toBe(false);
    expect(await lock.holding("read")).toBe(true);
    expect(await others.acquire("read", { waitMs: 5_000 })).toBe(true);
    await others.release("read");
    await lock.release("read");
    expect(await lock.participants()).toEqual([]);
  });

  it("a semaphore: several leases at a time, their data, and a limit that is a shared count", async () => {
    const path = "/recipes/semaphore";
    const count = await one.sharedCount("/recipes/semaphore-limit", 2);
    await count.start();
    const semaphore = await one.semaphore(path, count);
    await semaphore.setNodeData(bytes("job-1"));
    const leases = (await semaphore.acquireSeveral(2)) ?? [];
    expect(leases).toHaveLength(2);
    expect(new Set(await semaphore.leases())).toEqual(new Set(leases));
    const held = (await one.dump(`${path}/leases`)).slice(1);
    expect(held.map((node) => Buffer.from(node.data).toString())).toEqual(["job-1", "job-1"]);
    expect(await semaphore.acquireSeveral(2, { waitMs: 50 })).toBeNull();
    const third = semaphore.acquire();
    await expect.poll(() => semaphore.leases()).toHaveLength(3);
    await count.set(3);
    await semaphore.release(...leases, (await third) ?? "");
    expect(await semaphore.leases()).toEqual([]);
  });

  it("a semaphore mutex: not re-entrant, with its lease in the place of a semaphore's", async () => {
    const path = "/recipes/semaphore-mutex";
    const [mine, theirs] = await Promise.all([one.semaphoreMutex(path), two.semaphoreMutex(path)]);
    expect(await mine.acquire()).toBe(true);
    expect(await mine.acquire({ waitMs: 50 })).toBe(false);
    expect(await theirs.acquire({ waitMs: 50 })).toBe(false);
    expect([await mine.holding(), await theirs.holding()]).toEqual([true, false]);
    expect(await names(path)).toEqual([
      "leases",
      expect.stringMatching(/^leases\/_c_<uuid>-lease-\d{10}$/),
      "locks",
    ]);
    await mine.release();
    expect(await theirs.acquire({ waitMs: 5_000 })).toBe(true);
    await theirs.release();
    await expect(theirs.release()).rejects.toThrow("IllegalStateException");
  });

  it("a multi lock: all paths or none", async () => {
    const paths = ["/recipes/multi/a", "/recipes/multi/b"];
    const [all, last] = await Promise.all([one.multiLock(paths), two.mutex("/recipes/multi/b")]);
    expect(await all.acquire()).toBe(true);
    expect(await last.acquire({ waitMs: 50 })).toBeNull();
    expect(await all.holding()).toBe(true);
    await all.release();
    expect(await last.acquire()).not.toBeNull();
    expect(await all.acquire({ waitMs: 50 })).toBe(false);
    expect(await names("/recipes/multi/a")).toEqual([]);
    await last.release();
  });

  it("a leader latch: who leads, who stands, and what its listener hears", async () => {
    const path = "/recipes/latch";
    const [first, second] = await Promise.all([one.leaderLatch(path, "first"), two.leaderLatch(path, "")]);
    expect(await first.leader()).toBeNull();
    await first.start();
    await expect.poll(() => first.hasLeadership()).toBe(true);
    await second.start();
    await expect.poll(() => second.participants()).toHaveLength(2);
    expect(await second.participants()).toEqual([
      { id: "first", leader: true },
      { id: "", leader: false },
    ]);
    expect(await second.leader()).toEqual({ id: "first", leader: true });
    expect(await first.ourPath()).toMatch(/^\/recipes\/latch\/_c_.*-latch-\d{10}$/);
    expect(await second.hasLeadership()).toBe(false);
    await first.close({ notify: true });
    await expect.poll(() => second.hasLeadership()).toBe(true);
    await expect.poll(() => first.events).toEqual(["leader", "notLeader"]);
    await second.close();
    expect(second.events).toEqual(["leader"]);
    await expect.poll(() => names(path)).toEqual([]);
  });

  it("a leader selector: terms, resignation, interruption and standing again", async () => {
    const path = "/recipes/selector";
    const first = await one.leaderSelector(path, "first", { autoRequeue: true });
    const second = await two.leaderSelector(path, "second");
    await first.start();
    await expect.poll(() => first.events).toEqual(["took"]);
    await second.start();
    await expect.poll(() => first.participants()).toHaveLength(2);
    expect(await second.leader()).toEqual({ id: "first", leader: true });
    await first.resign();
    await expect.poll(() => second.events).toEqual(["took"]);
    expect(await second.hasLeadership()).toBe(true);
    // The first queues again by itself, behind the second.
    await expect
      .poll(() => second.participants())
      .toEqual([
        { id: "second", leader: true },
        { id: "first", leader: false },
      ]);
    await second.interrupt();
    await expect.poll(() => first.terms).toBe(2);
    expect(second.events).toEqual(["took", "interrupted"]);
    await expect.poll(() => second.requeue()).toBe(true);
    await first.close();
    await expect.poll(() => second.terms).toBe(2);
    await second.resign();
    await expect.poll(() => second.hasLeadership()).toBe(false);
    await second.close();
    await expect.poll(() => names(path)).toEqual([]);
  });

  it("a barrier: its waiters go on when it is removed", async () => {
    const path = "/recipes/barrier";
    const [gate, waiter] = await Promise.all([one.barrier(path), two.barrier(path)]);
    expect(await waiter.wait()).toBe(true);
    await gate.set();
    expect(await waiter.wait({ waitMs: 50 })).toBe(false);
    const waiting = waiter.wait();
    await gate.remove();
    expect(await waiting).toBe(true);
  });

  it("a double barrier: all enter together and leave together", async () => {
    const path = "/recipes/double-barrier";
    const [first, second] = await Promise.all([one.doubleBarrier(path, 2), two.doubleBarrier(path, 2)]);
    expect(await first.enter({ waitMs: 200 })).toBe(false);
    // Curator leaves the node of a member that has given up in place.
    await first.leave();
    expect(await Promise.all([first.enter(), second.enter()])).toEqual([true, true]);
    expect(await names(path)).toEqual(["<uuid>", "<uuid>", "ready"]);
    expect(await Promise.all([first.leave(), second.leave()])).toEqual([true, true]);
    expect(await names(path)).toEqual([]);
  });

  it("a shared count: versions, and what its listener hears", async () => {
    const path = "/recipes/shared-count";
    const [mine, theirs] = await Promise.all([one.sharedCount(path, 6), two.sharedCount(path, 7)]);
    await mine.start();
    await theirs.start();
    const seen = await theirs.get();
    expect(seen).toMatchObject({ value: 6, version: 0 });
    await mine.set(-2);
    await expect.poll(() => theirs.changes).toEqual([-2]);
    expect(await theirs.trySet(seen, 9)).toBe(false);
    expect(await theirs.trySet(await theirs.get(), 9)).toBe(true);
    expect(await theirs.get()).toMatchObject({ value: 9, version: 2 });
    const [node] = await one.dump(path);
    expect(node?.data).toEqual(Uint8Array.of(0, 0, 0, 9));
    await Promise.all([mine.close(), theirs.close()]);
  });

  it("a shared value: any bytes, by version", async () => {
    const path = "/recipes/shared-value";
    const [mine, theirs] = await Promise.all([
      one.sharedValue(path, bytes("seed")),
      two.sharedValue(path, bytes("late")),
    ]);
    await mine.start();
    await theirs.start();
    const seen = await theirs.get();
    expect(seen).toMatchObject({ value: bytes("seed"), version: 0 });
    await mine.set(Uint8Array.of(0, 255));
    await expect.poll(() => theirs.changes).toEqual([Uint8Array.of(0, 255)]);
    expect(await theirs.trySet(seen, bytes("no"))).toBe(false);
    expect(await theirs.trySet(await theirs.get(), bytes("yes"))).toBe(true);
    expect((await theirs.get()).value).toEqual(bytes("yes"));
    await Promise.all([mine.close(), theirs.close()]);
  });

  it("an atomic long: all that can be done to it", async () => {
    const path = "/recipes/atomic-long";
    const [mine, theirs] = await Promise.all([one.atomicLong(path), two.atomicLong(path)]);
    expect(await mine.get()).toEqual({ succeeded: true, before: 0n, after: 0n });
    expect((await mine.compareAndSet(0n, 1n)).succeeded).toBe(false);
    expect([await mine.initialize(40n), await theirs.initialize(41n)]).toEqual([true, false]);
    expect(await theirs.add(2n)).toEqual({ succeeded: true, before: 40n, after: 42n });
    expect((await mine.compareAndSet(41n, 0n)).succeeded).toBe(false);
    expect((await mine.compareAndSet(42n, 5n)).succeeded).toBe(true);
    expect((await mine.trySet(-3n)).succeeded).toBe(true);
    await theirs.forceSet(-(2n ** 63n));
    const [node] = await one.dump(path);
    expect(Buffer.from(node?.data ?? []).toString("hex")).toBe("8000000000000000");
    await mine.forceSet(0n);
    const added = await Promise.all([mine.increment(20, 30_000), theirs.increment(20, 30_000)]);
    expect((await mine.get()).after).toBe(BigInt(added[0] + added[1]));
    expect(added[0] + added[1]).toBeGreaterThan(20);
  });

  it("a group member: who is there, with what data", async () => {
    const path = "/recipes/group";
    const first = await one.groupMember(path, "first", bytes("1"));
    const second = await two.groupMember(path, "second");
    await first.start();
    await second.start();
    await second.setData(bytes("2"));
    const both = new Map([
      ["first", bytes("1")],
      ["second", bytes("2")],
    ]);
    await expect.poll(() => first.members()).toEqual(both);
    expect(await names(path)).toEqual(["first", "second"]);
    await second.close();
    await expect.poll(async () => [...(await first.members()).keys()]).toEqual(["first"]);
    await first.close();
  });

  const exclusive: ExclusiveRecipe[] = ["semaphoreMutex", "write", "multiLock", "latch", "selector"];
  it.each(exclusive)(
    "contenders for a file that only a %s protects, and they lose no update",
    async (recipe) => {
      await using log = await ContentionLog.start();
      const contention = { path: `/recipes/contend/${recipe}`, ...log.files, grants: 10 };
      await Promise.all(
        [one, two].map((client, at) =>
          client.contend({ ...contention, label: `java-${at}` }, 60_000, recipe),
        ),
      );
      await log.expectOrderly(20);
    },
  );

  it("contenders for one to three leases at a time, and never more than there are", async () => {
    await using log = await ContentionLog.start();
    const folder = await presenceFolder(log);
    const contention = { path: "/recipes/contend/semaphore", maxLeases: 3, folder, grants: 9, mostAtOnce: 3 };
    const seen = await Promise.all(
      [one, two].map((client, at) => client.contendSemaphore({ ...contention, label: `java-${at}` }, 60_000)),
    );
    expect(Math.max(...seen.map(({ mostHolders }) => mostHolders))).toBe(3);
  });

  // Curator up to 5.4.0 lets a queued writer in beside a reader that was the writer before.
  const downgrade = curator !== "5.4.0";
  it(`readers and writers${downgrade ? " that become readers" : ""}, alone while they write`, async () => {
    await using log = await ContentionLog.start();
    const folder = await presenceFolder(log);
    const { counterFile } = log.files;
    const contention = { path: "/recipes/contend/rw", counterFile, folder, turns: 12, writeEvery: 3 };
    const seen = await Promise.all(
      [one, two].map((client, at) =>
        client.contendReadWrite({ ...contention, downgrade, label: `java-${at}` }, 60_000),
      ),
    );
    expect(seen.map(({ writes }) => writes)).toEqual([4, 4]);
  });
});
