import type { LockSnapshot, LockView } from "@holdfast/core";
import { eventually } from "@holdfast/test-servers";
import type { ZooKeeperLocks } from "@holdfast/zk-recipes";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startTarget, type Target, targetNames } from "../../foreign/target.js";
import { connected } from "../../support/providers.js";
import { Operator } from "../features/operator.js";

const waitMs = 20_000;
let paths = 0;

describe.each(targetNames)("inspect() on %s", (name) => {
  let target: Target;
  let path: string;
  let ours: ZooKeeperLocks;
  let other: ZooKeeperLocks;
  let stranger: ZooKeeperLocks;
  beforeAll(async () => {
    target = await startTarget(name);
  }, 300_000);
  afterAll(() => target?.[Symbol.asyncDispose]());
  beforeEach(async () => {
    path = `/kinds/l${paths++}`;
    [ours, other, stranger] = (await Promise.all(
      [1, 2, 3].map(() => connected(target.connectString, { identity: true })),
    )) as [ZooKeeperLocks, ZooKeeperLocks, ZooKeeperLocks];
  });

  async function untilPending(
    view: { inspect(): Promise<LockSnapshot> },
    count: number,
  ): Promise<LockSnapshot> {
    let seen = await view.inspect();
    await eventually(
      async () => {
        seen = await view.inspect();
        return seen.pendingTotal === count;
      },
      { what: `${count} to wait` },
    );
    return seen;
  }

  it("shows a writer with the read beside it, and who waits for them, with modes and places", async () => {
    const lock = ours.reentrantReadWriteLock(path, { label: "writer" });
    const owner = { id: "writer" };
    const write = await lock.write.acquire({ owner, waitMs });
    const read = await lock.read.acquire({ owner, waitMs });
    const queued = other.readWriteLock(path, { label: "reader" }).read.acquire({ waitMs });
    const seen = await untilPending(stranger.readWriteLock(path), 1);
    expect(seen.kind).toBe("read-write-lock");
    expect(seen.held).toMatchObject([
      {
        mode: "exclusive",
        token: write.token,
        label: expect.stringMatching(/^writer /),
        heldByThisProvider: false,
      },
      { mode: "shared", token: write.token, session: seen.held[0]?.session, recognisedAs: "holdfast" },
    ]);
    expect(seen.pending).toMatchObject([
      { mode: "shared", position: 0, label: expect.stringMatching(/^reader /) },
    ]);
    expect(seen.pending[0]?.session).not.toBe(seen.held[0]?.session);
    expect((await lock.inspect()).kind).toBe("reentrant-read-write-lock");
    await write.release();
    expect((await stranger.readWriteLock(path).inspect()).held.map(({ mode }) => mode)).toEqual([
      "shared",
      "shared",
    ]);
    await read.release();
    await (await queued).release();
  });

  it("shows one holder for each permit of a semaphore, and its queue", async () => {
    const batch = await ours.semaphore(path, 3).acquire({ permits: 2, waitMs });
    const single = await other.semaphore(path, 3).acquire({ waitMs });
    const waiting = other.semaphore(path, 3).acquire({ permits: 2, waitMs });
    const seen = await untilPending(stranger.semaphore(path, 3), 1);
    expect(seen).toMatchObject({ kind: "semaphore", limit: 3, available: 0 });
    expect(seen.held).toHaveLength(3);
    expect(new Set(seen.held.map(({ session }) => session)).size).toBe(2);
    expect(seen.held.every(({ backendId }) => backendId.startsWith(`${path}/leases/`))).toBe(true);
    expect(seen.pending).toMatchObject([{ position: 0, sinceMs: { provenance: "exact" } }]);
    const mine = await ours.semaphore(path, 3).inspect();
    expect(mine.held.filter((hold) => hold.heldByThisProvider)).toHaveLength(2);
    await batch.release();
    await (await waiting).release();
    await single.release();
  });

  it("shows a semaphore mutex with one holder and its queue", async () => {
    const held = await ours.semaphoreMutex(path).acquire({ waitMs });
    const waiting = other.semaphoreMutex(path).acquire({ waitMs });
    const seen = await untilPending(stranger.semaphoreMutex(path), 1);
    expect(seen.kind).toBe("semaphore-mutex");
    expect(seen.held).toMatchObject([{ mode: "exclusive", token: held.token }]);
    expect(seen.pending).toMatchObject([{ mode: "exclusive", position: 0 }]);
    await held.release();
    await (await waiting).release();
  });

  it("shows the holder of a naive mutex, which is the path itself, and that its waiters cannot be seen", async () => {
    const held = await ours.naiveMutex(path, { label: "first" }).acquire({ waitMs });
    const seen = await stranger.naiveMutex(path).inspect();
    expect(seen).toMatchObject({ kind: "naive-mutex", pending: [], pendingTotal: null });
    expect(seen.held).toMatchObject([
      {
        backendId: path,
        token: held.token,
        label: expect.stringMatching(/^first /),
        recognisedAs: "holdfast",
      },
    ]);
    await held.release();
    expect((await stranger.naiveMutex(path).inspect()).held).toEqual([]);
  });

  it("shows what is there, whatever was asked for", async () => {
    const held = await ours.semaphore(path, 2).acquire({ waitMs });
    const seen = await stranger.mutex(path).inspect();
    expect(seen.kind).toBe("semaphore");
    expect(seen.held).toHaveLength(1);
    await held.release();
  });

  describe("requestRevoke()", () => {
    it("asks all readers, and a writer with its read", async () => {
      const reads = await Promise.all(
        [ours, other].map((each) => each.readWriteLock(path).read.acquire({ waitMs, revocable: true })),
      );
      expect(await stranger.readWriteLock(path).requestRevoke()).toBe(true);
      await eventually(() => reads.every(({ revokeRequested }) => revokeRequested?.aborted), {
        what: "both to hear",
      });
      for (const read of reads) await read.release();
      const write = await ours.readWriteLock(path).write.acquire({ waitMs, revocable: true });
      expect(await stranger.readWriteLock(path).requestRevoke()).toBe(true);
      await eventually(() => write.revokeRequested?.aborted === true, { what: "the writer to hear" });
      await write.release();
      expect(await stranger.readWriteLock(path).requestRevoke()).toBe(false);
    });

    it("asks the holders of all permits, and of a naive mutex", async () => {
      const permits = await Promise.all(
        [ours, other].map((each) => each.semaphore(path, 2).acquire({ waitMs, revocable: true })),
      );
      // The interface of semaphores does not declare `requestRevoke`, but the object has it.
      const semaphore = stranger.semaphore(path, 2) as unknown as LockView;
      expect(await semaphore.requestRevoke()).toBe(true);
      await eventually(() => permits.every(({ revokeRequested }) => revokeRequested?.aborted), {
        what: "both to hear",
      });
      for (const permit of permits) await permit.release();
      const naive = await ours.naiveMutex(`${path}-naive`).acquire({ waitMs, revocable: true });
      expect(await stranger.naiveMutex(`${path}-naive`).requestRevoke()).toBe(true);
      await eventually(() => naive.revokeRequested?.aborted === true, { what: "the holder to hear" });
      await naive.release();
    });

    it("writes nothing into the nodes of another kind of lock", async () => {
      const operator = await Operator.connect(target.connectString);
      const write = await ours.readWriteLock(path).write.acquire({ waitMs, revocable: true });
      const before = await operator.read(await operator.onlyChild(path));
      expect(await stranger.mutex(path).requestRevoke()).toBe(false);
      expect(await operator.read(await operator.onlyChild(path))).toEqual(before);
      await write.release();
    });
  });
});
