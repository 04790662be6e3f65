import { multiLock } from "@holdfast/multi-lock";
import { forceOpen } from "../../support/redis/redis-force.js";
import type { Row, Scene } from "./scene.js";

const waitMs = 20_000;

/** An operation that is one script and needs no preparation. */
function lookup(operation: string, work: (scene: Scene) => Promise<unknown>, more: Partial<Row> = {}): Row {
  return {
    operation,
    scripts: 1,
    awaited: 1,
    ...more,
    run: async (scene) => {
      await scene.cost(() => work(scene));
    },
  };
}

/** A row for an operation of a client that holds the write lock. */
function writing(
  operation: string,
  cost: { scripts: number; awaited: number },
  read: "beside" | "downgrade",
): Row {
  return {
    operation,
    ...cost,
    run: async (scene) => {
      if (read === "downgrade") {
        const write = await scene.client.readWriteLock(scene.name).write.acquire();
        const held = await scene.cost(() => write.downgrade());
        await held.release();
        return;
      }
      const lock = scene.client.reentrantReadWriteLock(scene.name);
      await lock.write.withLock(async () => {
        await scene.cost(() => lock.read.withLock(() => {}));
      });
    },
  };
}

const held: readonly Row[] = [
  {
    operation: "re-entrant mutex: enter again and leave",
    scripts: 0,
    awaited: 0,
    run: async (scene) => {
      const mutex = scene.client.reentrantMutex(scene.name);
      await mutex.withLock(async () => {
        await scene.cost(() => mutex.withLock(() => {}));
      });
    },
  },
  {
    operation: "mutex: confirm a hold",
    scripts: 1,
    awaited: 1,
    run: async (scene) => {
      const handle = await scene.client.mutex(scene.name).acquire();
      await scene.cost(() => handle.confirm());
      await handle.release();
    },
  },
  {
    operation: "mutex: acquire, revocable",
    scripts: 1,
    awaited: 1,
    run: async (scene) => {
      const handle = await scene.cost(() => scene.client.mutex(scene.name).acquire({ revocable: true }));
      await handle.release();
    },
  },
  {
    operation: "mutex: a wait that runs out",
    scripts: 2,
    awaited: 1,
    redisson: 2,
    run: async (scene) => {
      const theirs = await scene.rival.mutex(scene.name).acquire();
      await scene.cost(() => scene.client.mutex(scene.name).tryAcquire({ waitMs: 500 }));
      await theirs.release();
    },
  },
  {
    operation: "mutex: the release that hands over to another process",
    scripts: 1,
    awaited: 1,
    redisson: 1,
    run: async (scene) => {
      const handle = await scene.client.mutex(scene.name).acquire();
      const waiting = scene.rival.mutex(scene.name).acquire({ waitMs });
      await scene.quiet();
      await scene.cost(() => handle.release());
      await (await waiting).release();
    },
  },
  writing(
    "re-entrant read-write lock: read beside the own write, and end it",
    { scripts: 2, awaited: 2 },
    "beside",
  ),
  writing("read-write lock: downgrade", { scripts: 2, awaited: 2 }, "downgrade"),
  {
    operation: "multi-lock of three: acquire",
    scripts: 1,
    awaited: 1,
    run: async (scene) => {
      const parts = [1, 2, 3].map((part) => scene.client.mutex(`${scene.name}-${part}`));
      const handle = await scene.cost(() => multiLock(parts).acquire());
      await handle.release();
    },
  },
  {
    operation: "multi-lock of three: release",
    scripts: 3,
    awaited: 1,
    run: async (scene) => {
      const parts = [1, 2, 3].map((part) => scene.client.mutex(`${scene.name}-${part}`));
      const handle = await multiLock(parts).acquire();
      await scene.cost(() => handle.release());
    },
  },
];

const meeting: readonly Row[] = [
  lookup("latch: set", ({ client, name }) => client.countDownLatch(name).trySetCount(2)),
  lookup("latch: count down", ({ client, name }) => client.countDownLatch(name).countDown()),
  lookup("latch: read", ({ client, name }) => client.countDownLatch(name).count()),
  lookup("latch: wait for an open one", ({ client, name }) => client.countDownLatch(name).wait(), {
    subscriptions: 2,
  }),
  lookup("barrier: shut", ({ client, name }) => client.barrier(name).shut()),
  lookup("barrier: open", ({ client, name }) => client.barrier(name).open()),
  lookup("barrier: wait at an open one", ({ client, name }) => client.barrier(name).wait(), {
    subscriptions: 2,
  }),
  {
    operation: "double barrier: enter as the last",
    scripts: 1,
    subscriptions: 2,
    awaited: 1,
    run: async (scene) => {
      const inside = await scene.cost(() => scene.client.doubleBarrier(scene.name, 1).enter());
      await inside.leave();
    },
  },
  {
    operation: "double barrier: leave as the last",
    scripts: 2,
    subscriptions: 2,
    awaited: 2,
    run: async (scene) => {
      const inside = await scene.client.doubleBarrier(scene.name, 1).enter();
      await scene.cost(() => inside.leave());
    },
  },
];

const looking: readonly Row[] = [
  lookup("mutex: inspect", ({ client, name }) => client.mutex(name).inspect()),
  lookup("fair mutex: inspect", ({ client, name }) => client.fairMutex(name).inspect()),
  lookup("spin mutex: inspect", ({ client, name }) => client.spinMutex(name).inspect()),
  lookup("read-write lock: inspect", ({ client, name }) => client.readWriteLock(name).inspect()),
  lookup("semaphore: inspect", ({ client, name }) => client.plainSemaphore(name, 3).inspect()),
  lookup(
    "permit semaphore: inspect, and read its limit",
    ({ client, name }) => client.permitSemaphore(name).inspect(),
    {
      scripts: 2,
      awaited: 2,
    },
  ),
  lookup("permit semaphore: set the limit", ({ client, name }) => client.permitSemaphore(name).setLimit(3)),
  lookup("permit semaphore: set it where none is", ({ client, name }) =>
    client.permitSemaphore(name).trySetLimit(3),
  ),
  lookup("leadership: who leads", ({ client, name }) => client.leaderElection(name).leader()),
  lookup("leadership: who stands", ({ client, name }) => client.leaderElection(name).participants()),
  lookup("mutex: ask its holder to let go", ({ client, name }) => client.mutex(name).requestRevoke()),
  lookup("fair mutex: ask its holder to let go", ({ client, name }) =>
    client.fairMutex(name).requestRevoke(),
  ),
  lookup("mutex: free it by force", ({ client, name }) => forceOpen(client.mutex(name))),
  lookup("fair mutex: free it by force", ({ client, name }) => forceOpen(client.fairMutex(name))),
  {
    operation: "leadership: announce",
    scripts: 1,
    awaited: 1,
    run: async (scene) => {
      const term = await scene.client.leaderElection(scene.name).campaign();
      await scene.cost(() => term.announce("here"));
      await term.release();
    },
  },
];

export const otherRows: readonly Row[] = [...held, ...meeting, ...looking];
