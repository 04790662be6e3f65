import type { AcquireOptions } from "@holdfast/core";
import type { RedisLocks } from "@holdfast/redis-recipes";
import type { Row, Scene } from "./scene.js";

interface Hold {
  release(): Promise<string>;
}

interface Kind {
  readonly what: string;
  acquire(locks: RedisLocks, name: string, options?: AcquireOptions): Promise<Hold>;
  tryAcquire?(locks: RedisLocks, name: string, options?: AcquireOptions): Promise<Hold | null>;
  /** Takes a lock that keeps this one out. Default: another hold of the same kind. */
  block?(locks: RedisLocks, name: string): Promise<Hold>;
  prepare?(locks: RedisLocks, name: string): Promise<unknown>;
  /**
   * `handed`: the release makes our next waiter the holder. `woken`: the waiter gets a message, and asks. `polls`: the waiter looks now
   * and then, so that no cost can be given for a wait.
   */
  readonly next: "handed" | "woken" | "polls";
}

const kinds: readonly Kind[] = [
  {
    what: "mutex",
    next: "handed",
    acquire: (locks, name, options) => locks.mutex(name).acquire(options),
    tryAcquire: (locks, name, options) => locks.mutex(name).tryAcquire(options),
  },
  {
    what: "re-entrant mutex",
    next: "handed",
    acquire: (locks, name, options) => locks.reentrantMutex(name).acquire(options),
    tryAcquire: (locks, name, options) => locks.reentrantMutex(name).tryAcquire(options),
  },
  {
    what: "fair mutex",
    next: "woken",
    acquire: (locks, name, options) => locks.fairMutex(name).acquire(options),
    tryAcquire: (locks, name, options) => locks.fairMutex(name).tryAcquire(options),
  },
  {
    what: "spin mutex",
    next: "polls",
    acquire: (locks, name, options) => locks.spinMutex(name).acquire(options),
    tryAcquire: (locks, name, options) => locks.spinMutex(name).tryAcquire(options),
  },
  {
    what: "read lock",
    next: "woken",
    acquire: (locks, name, options) => locks.readWriteLock(name).read.acquire(options),
    tryAcquire: (locks, name, options) => locks.readWriteLock(name).read.tryAcquire(options),
    block: (locks, name) => locks.readWriteLock(name).write.acquire(),
  },
  {
    what: "write lock",
    next: "handed",
    acquire: (locks, name, options) => locks.readWriteLock(name).write.acquire(options),
    tryAcquire: (locks, name, options) => locks.readWriteLock(name).write.tryAcquire(options),
  },
  {
    what: "re-entrant read lock",
    next: "woken",
    acquire: (locks, name, options) => locks.reentrantReadWriteLock(name).read.acquire(options),
    block: (locks, name) => locks.reentrantReadWriteLock(name).write.acquire(),
  },
  {
    what: "re-entrant write lock",
    next: "handed",
    acquire: (locks, name, options) => locks.reentrantReadWriteLock(name).write.acquire(options),
  },
  {
    what: "semaphore, two permits",
    next: "woken",
    acquire: (locks, name, options) => locks.plainSemaphore(name, 3).acquire({ ...options, permits: 2 }),
    tryAcquire: (locks, name, options) =>
      locks.plainSemaphore(name, 3).tryAcquire({ ...options, permits: 2 }),
  },
  {
    what: "permit semaphore, two permits",
    next: "woken",
    prepare: (locks, name) => locks.permitSemaphore(name).setLimit(3),
    acquire: (locks, name, options) => locks.permitSemaphore(name).acquire({ ...options, permits: 2 }),
    tryAcquire: (locks, name, options) => locks.permitSemaphore(name).tryAcquire({ ...options, permits: 2 }),
  },
  {
    what: "leadership",
    next: "handed",
    acquire: (locks, name, options) => locks.leaderElection(name).campaign(options),
  },
];

const waitMs = 20_000;

async function blocked({ rival, name }: Scene, kind: Kind): Promise<Hold> {
  await kind.prepare?.(rival, name);
  return await (kind.block ?? kind.acquire)(rival, name);
}

function rowsOf(kind: Kind): Row[] {
  const { what, acquire, tryAcquire, next } = kind;
  const rows: Row[] = [
    {
      operation: `${what}: acquire, free`,
      scripts: 1,
      awaited: 1,
      redisson: 1,
      run: async (scene) => {
        await kind.prepare?.(scene.rival, scene.name);
        const hold = await scene.cost(() => acquire(scene.client, scene.name));
        await hold.release();
      },
    },
    {
      operation: `${what}: release`,
      scripts: 1,
      awaited: 1,
      redisson: 1,
      run: async (scene) => {
        await kind.prepare?.(scene.rival, scene.name);
        const hold = await acquire(scene.client, scene.name);
        await scene.cost(() => hold.release());
      },
    },
  ];
  if (tryAcquire !== undefined) {
    rows.push({
      operation: `${what}: a try at a held one`,
      scripts: 1,
      awaited: 1,
      redisson: 1,
      run: async (scene) => {
        const held = await blocked(scene, kind);
        await scene.cost(() => tryAcquire(scene.client, scene.name));
        await held.release();
      },
    });
  }
  if (next === "polls") return rows;
  // Where the queue is Redisson's, or where there is none, waiters listen to Redisson's channel.
  const listens = next === "woken";
  rows.push(
    {
      // Redisson waits for three round trips: it tries, subscribes and tries again.
      operation: `${what}: queue up`,
      ...(listens ? { scripts: 2, subscriptions: 1 } : { scripts: 1 }),
      awaited: listens ? 2 : 1,
      redisson: 3,
      run: async (scene) => {
        const held = await blocked(scene, kind);
        let granted: Promise<Hold> | undefined;
        await scene.cost(async () => {
          granted = acquire(scene.client, scene.name, { waitMs });
          await scene.quiet();
        });
        await held.release();
        await (await granted)?.release();
      },
    },
    {
      // A waiter that became the holder by a release or a heartbeat has only the claim lease. So it renews at once, in the
      // background.
      operation: `${what}: the hand-off to the one that waits`,
      scripts: what === "fair mutex" ? 2 : 1,
      ...(listens && { subscriptions: 1 }),
      awaited: next === "handed" ? 0 : 1,
      redisson: 1,
      run: async (scene) => {
        const held = await blocked(scene, kind);
        const granted = acquire(scene.client, scene.name, { waitMs });
        await scene.quiet();
        const hold = await scene.cost(
          async () => {
            await held.release();
            return await granted;
          },
          { unanswered: next === "handed" },
        );
        await hold.release();
      },
    },
  );
  return rows;
}

export const grantRows: readonly Row[] = kinds.flatMap(rowsOf);
