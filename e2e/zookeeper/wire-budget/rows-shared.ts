import type { Row } from "./scene.js";

const waitMs = 20_000;
const many = 20;

function permitRow(operation: string, permits: number, limit: number, curator: number): Row {
  return {
    operation,
    there: "semaphore",
    fewer: true,
    ours: {
      requests: 6,
      awaited: 2,
      run: async (scene) => {
        const semaphore = scene.client.semaphore(scene.path, limit);
        const handle = await scene.cost(() => semaphore.acquire({ permits }), { unawaited: "delete" });
        await handle.release();
      },
    },
    curator: {
      requests: curator,
      awaited: curator,
      run: async (scene) => {
        const semaphore = await scene.client.semaphore(scene.path, limit);
        const leases = await scene.cost(() => semaphore.acquireSeveral(permits));
        await semaphore.release(...(leases ?? []));
      },
    },
  };
}

function returnRow(operation: string, permits: number): Row {
  return {
    operation,
    there: "semaphore",
    ours: {
      requests: permits,
      awaited: 1,
      run: async (scene) => {
        const handle = await scene.client.semaphore(scene.path, many).acquire({ permits });
        await scene.answered("delete");
        await scene.cost(() => handle.release());
      },
    },
    curator: {
      requests: permits,
      awaited: permits,
      run: async (scene) => {
        const semaphore = await scene.client.semaphore(scene.path, many);
        const leases = await semaphore.acquireSeveral(permits);
        await scene.cost(() => semaphore.release(...(leases ?? [])));
      },
    },
  };
}

function sideRow(side: "read" | "write"): Row {
  return {
    operation: `read-write lock: acquire to ${side}`,
    there: "lock",
    fewer: true,
    ours: {
      requests: 2,
      awaited: 1,
      run: async (scene) => {
        const lock = scene.client.readWriteLock(scene.path)[side];
        await (await scene.cost(() => lock.acquire())).release();
      },
    },
    curator: {
      requests: 2,
      awaited: 2,
      run: async (scene) => {
        const lock = await scene.client.readWriteLock(scene.path);
        await scene.cost(() => lock.acquire(side), { peerAsks: 1 });
        await lock.release(side);
      },
    },
  };
}

function sideReleaseRow(side: "read" | "write"): Row {
  return {
    operation: `read-write lock: release to ${side}`,
    there: "lock",
    ours: {
      requests: 1,
      awaited: 1,
      run: async (scene) => {
        const handle = await scene.client.readWriteLock(scene.path)[side].acquire({ revocable: true });
        await scene.answered("getData");
        await scene.cost(() => handle.release());
      },
    },
    curator: {
      requests: 1,
      awaited: 1,
      run: async (scene) => {
        const lock = await scene.client.readWriteLock(scene.path);
        await lock.acquire(side);
        await scene.cost(() => lock.release(side));
      },
    },
  };
}

export const sharedRows: readonly Row[] = [
  permitRow("semaphore: acquire a free permit", 1, 1, 5),
  permitRow(`semaphore: acquire ${many} free permits`, many, many, 5 * many),
  {
    operation: "semaphore: acquire a free permit, a shared count tells how many there are",
    there: "semaphore",
    fewer: true,
    ours: {
      requests: 7,
      awaited: 2,
      run: async (scene) => {
        const count = scene.client.sharedCount(`${scene.path}-count`, 2);
        await count.get();
        const semaphore = scene.client.semaphore(scene.path, count);
        const handle = await scene.cost(() => semaphore.acquire(), { unawaited: "delete" });
        await handle.release();
      },
    },
    curator: {
      requests: 5,
      awaited: 5,
      run: async (scene) => {
        const count = await scene.client.sharedCount(`${scene.path}-count`, 2);
        await count.start();
        const semaphore = await scene.client.semaphore(scene.path, count);
        const lease = await scene.cost(() => semaphore.acquire());
        await semaphore.release(lease ?? "");
        await count.close();
      },
    },
  },
  {
    operation: "semaphore mutex: acquire",
    there: "semaphore",
    fewer: true,
    ours: {
      requests: 6,
      awaited: 2,
      run: async (scene) => {
        const mutex = scene.client.semaphoreMutex(scene.path);
        await (await scene.cost(() => mutex.acquire(), { unawaited: "delete" })).release();
      },
    },
    curator: {
      requests: 5,
      awaited: 5,
      run: async (scene) => {
        const mutex = await scene.client.semaphoreMutex(scene.path);
        await scene.cost(() => mutex.acquire());
        await mutex.release();
      },
    },
  },
  returnRow("semaphore: release a permit", 1),
  returnRow(`semaphore: release ${many} permits`, many),
  {
    operation: "semaphore: hand-over to the next",
    there: "semaphore",
    ours: {
      requests: 4,
      awaited: 2,
      run: async (scene) => {
        const held = await scene.rival.semaphore(scene.path, 1).acquire();
        const granted = scene.client.semaphore(scene.path, 1).acquire({ waitMs });
        await scene.answered("getChildren2", 3);
        const work = async () => {
          await held.release();
          return await granted;
        };
        await (await scene.cost(work, { unawaited: "delete" })).release();
      },
    },
    curator: {
      requests: 2,
      awaited: 2,
      run: async (scene) => {
        const held = await scene.rival.semaphore(scene.path, 1).acquire();
        const semaphore = await scene.client.semaphore(scene.path, 1);
        const granted = semaphore.acquire({ waitMs });
        await scene.answered("getChildren2", 2);
        const lease = await scene.cost(async () => {
          await held.release();
          return await granted;
        });
        await semaphore.release(lease ?? "");
      },
    },
  },
  {
    operation: "semaphore: a try at a full one",
    there: "semaphore",
    fewer: true,
    ours: {
      requests: 4,
      awaited: 2,
      run: async (scene) => {
        const held = await scene.rival.semaphore(scene.path, 1).acquire();
        await scene.cost(() => scene.client.semaphore(scene.path, 1).tryAcquire());
        await held.release();
      },
    },
    curator: {
      requests: 6,
      awaited: 6,
      run: async (scene) => {
        const held = await scene.rival.semaphore(scene.path, 1).acquire();
        const semaphore = await scene.client.semaphore(scene.path, 1);
        await scene.cost(() => semaphore.acquire({ waitMs: 0 }));
        await held.release();
      },
    },
  },
  sideRow("read"),
  sideRow("write"),
  sideReleaseRow("read"),
  sideReleaseRow("write"),
  {
    operation: "read-write lock: read under the own write",
    there: "lock",
    fewer: true,
    ours: {
      requests: 3,
      awaited: 1,
      run: async (scene) => {
        const lock = scene.client.reentrantReadWriteLock(scene.path);
        const owner = { id: "writer" };
        const write = await lock.write.acquire({ owner, revocable: true });
        await scene.answered("getData");
        const read = await scene.cost(() => lock.read.acquire({ owner }));
        await write.release();
        await read.release();
      },
    },
    curator: {
      requests: 2,
      awaited: 2,
      run: async (scene) => {
        const lock = await scene.client.readWriteLock(scene.path);
        await lock.acquire("write");
        await scene.cost(() => lock.acquire("read"), { peerAsks: 1 });
        await lock.release("write");
        await lock.release("read");
      },
    },
  },
  {
    operation: "read-write lock: downgrade",
    there: "lock",
    fewer: true,
    ours: {
      requests: 5,
      awaited: 2,
      run: async (scene) => {
        const write = await scene.client.readWriteLock(scene.path).write.acquire({ revocable: true });
        await scene.answered("getData");
        await (await scene.cost(() => write.downgrade())).release();
      },
    },
    curator: {
      requests: 3,
      awaited: 3,
      run: async (scene) => {
        const lock = await scene.client.readWriteLock(scene.path);
        await lock.acquire("write");
        const downgrade = async () => {
          await lock.acquire("read");
          await lock.release("write");
        };
        await scene.cost(downgrade, { peerAsks: 1 });
        await lock.release("read");
      },
    },
  },
  {
    operation: "read-write lock: a try to read what is written",
    there: "lock",
    fewer: true,
    ours: {
      requests: 3,
      awaited: 2,
      run: async (scene) => {
        const held = await scene.rival.readWriteLock(scene.path).write.acquire();
        await scene.cost(() => scene.client.readWriteLock(scene.path).read.tryAcquire());
        await held.release();
      },
    },
    curator: {
      requests: 4,
      awaited: 4,
      run: async (scene) => {
        const held = await scene.rival.readWriteLock(scene.path).write.acquire();
        const lock = await scene.client.readWriteLock(scene.path);
        await scene.cost(() => lock.acquire("read", { waitMs: 0 }));
        await held.release();
      },
    },
  },
];
