import type { ZooKeeperLocks } from "@holdfast/zk-recipes";
import type { Row, Scene } from "./scene.js";

const waitMs = 20_000;

/** Takes the lock with the rival client, whose connection does not go through the link. */
async function heldByRival({ rival, path }: Scene<unknown>) {
  return await rival.mutex(path).acquire();
}

/** Takes the lock and reads `lost`, which sets the watch on the own node at once. So nothing more is sent while it is held. */
async function heldByUs(scene: Scene<ZooKeeperLocks>) {
  const handle = await scene.client.mutex(scene.path).acquire();
  expectHeld(handle.lost);
  await scene.answered("getData");
  return handle;
}

function expectHeld(lost: AbortSignal): void {
  lost.throwIfAborted();
}

export const exclusiveRows: readonly Row[] = [
  {
    operation: "mutex: acquire",
    there: "lock",
    fewer: true,
    ours: {
      requests: 2,
      awaited: 1,
      run: async (scene) => {
        await (await scene.cost(() => scene.client.mutex(scene.path).acquire())).release();
      },
    },
    curator: {
      requests: 2,
      awaited: 2,
      run: async (scene) => {
        const mutex = await scene.client.mutex(scene.path);
        await scene.cost(() => mutex.acquire(), { peerAsks: 1 });
        await mutex.release();
      },
    },
  },
  {
    operation: "mutex: enter again",
    there: "lock",
    ours: {
      requests: 0,
      awaited: 0,
      run: async (scene) => {
        const mutex = scene.client.reentrantMutex(scene.path);
        await mutex.withLock(async (outer) => {
          expectHeld(outer.lost);
          await scene.answered("getData");
          await scene.cost(() => mutex.withLock(() => {}));
        });
      },
    },
    curator: {
      requests: 0,
      awaited: 0,
      run: async (scene) => {
        const mutex = await scene.client.mutex(scene.path);
        await mutex.acquire();
        await scene.cost(() => mutex.acquire(), { peerAsks: 1 });
        await mutex.release();
        await mutex.release();
      },
    },
  },
  {
    operation: "mutex: release",
    there: "lock",
    ours: {
      requests: 1,
      awaited: 1,
      run: async (scene) => {
        const handle = await heldByUs(scene);
        await scene.cost(() => handle.release());
      },
    },
    curator: {
      requests: 1,
      awaited: 1,
      run: async (scene) => {
        const mutex = await scene.client.mutex(scene.path);
        await mutex.acquire();
        await scene.cost(() => mutex.release());
      },
    },
  },
  {
    operation: "mutex: acquire below three absent levels",
    fewer: true,
    ours: {
      requests: 8,
      awaited: 2,
      run: async (scene) => {
        const mutex = scene.client.mutex(`${scene.path}/a/b`);
        await (await scene.cost(() => mutex.acquire())).release();
      },
    },
    curator: {
      requests: 10,
      awaited: 10,
      run: async (scene) => {
        const mutex = await scene.client.mutex(`${scene.path}/a/b`);
        await scene.cost(() => mutex.acquire(), { peerAsks: 1 });
        await mutex.release();
      },
    },
  },
  {
    operation: "mutex: queue up",
    there: "lock",
    fewer: true,
    ours: {
      requests: 3,
      awaited: 2,
      run: async (scene) => {
        const held = await heldByRival(scene);
        const waiting = await scene.cost(async () => {
          const granted = scene.client.mutex(scene.path).acquire({ waitMs });
          await scene.answered("setWatches");
          return { granted };
        });
        await held.release();
        await (await waiting.granted).release();
      },
    },
    curator: {
      requests: 3,
      awaited: 3,
      run: async (scene) => {
        const held = await heldByRival(scene);
        const mutex = await scene.client.mutex(scene.path);
        const waiting = await scene.cost(async () => {
          const granted = mutex.acquire({ waitMs });
          await scene.answered("getData");
          return { granted };
        });
        await held.release();
        await waiting.granted;
        await mutex.release();
      },
    },
  },
  {
    operation: "mutex: hand-over to the next",
    there: "lock",
    fewer: true,
    ours: {
      requests: 0,
      awaited: 0,
      run: async (scene) => {
        const held = await heldByRival(scene);
        const granted = scene.client.mutex(scene.path).acquire({ waitMs });
        await scene.answered("setWatches");
        const handle = await scene.cost(async () => {
          await held.release();
          return await granted;
        });
        await handle.release();
      },
    },
    curator: {
      requests: 1,
      awaited: 1,
      run: async (scene) => {
        const held = await heldByRival(scene);
        const mutex = await scene.client.mutex(scene.path);
        const granted = mutex.acquire({ waitMs });
        await scene.answered("getData");
        await scene.cost(
          async () => {
            await held.release();
            await granted;
          },
          { peerAsks: 1 },
        );
        await mutex.release();
      },
    },
  },
  {
    operation: "mutex: a wait that runs out",
    there: "lock",
    fewer: true,
    ours: {
      requests: 4,
      awaited: 2,
      run: async (scene) => {
        const held = await heldByRival(scene);
        const tried = () => scene.client.mutex(scene.path).tryAcquire({ waitMs: 500 });
        await scene.cost(tried, { unawaited: "delete" });
        await held.release();
      },
    },
    curator: {
      requests: 6,
      awaited: 6,
      run: async (scene) => {
        const held = await heldByRival(scene);
        const mutex = await scene.client.mutex(scene.path);
        await scene.cost(() => mutex.acquire({ waitMs: 500 }));
        await held.release();
      },
    },
  },
  {
    operation: "mutex: a try at a held one",
    there: "lock",
    fewer: true,
    ours: {
      requests: 3,
      awaited: 2,
      run: async (scene) => {
        const held = await heldByRival(scene);
        await scene.cost(() => scene.client.mutex(scene.path).tryAcquire());
        await held.release();
      },
    },
    curator: {
      requests: 4,
      awaited: 4,
      run: async (scene) => {
        const held = await heldByRival(scene);
        const mutex = await scene.client.mutex(scene.path);
        await scene.cost(() => mutex.acquire({ waitMs: 0 }));
        await held.release();
      },
    },
  },
  {
    operation: "mutex: acquire, revocable",
    there: "lock",
    fewer: true,
    ours: {
      requests: 2,
      awaited: 1,
      run: async (scene) => {
        const handle = await scene.cost(() => scene.client.mutex(scene.path).acquire({ revocable: true }));
        await handle.release();
      },
    },
    curator: {
      requests: 3,
      awaited: 3,
      run: async (scene) => {
        const mutex = await scene.client.mutex(scene.path);
        await mutex.makeRevocable();
        await scene.cost(() => mutex.acquire(), { peerAsks: 1 });
        await mutex.release();
      },
    },
  },
  {
    operation: "mutex: release, revocable",
    there: "lock",
    ours: {
      requests: 1,
      awaited: 1,
      run: async (scene) => {
        const handle = await scene.client.mutex(scene.path).acquire({ revocable: true });
        await scene.answered("getData");
        await scene.cost(() => handle.release());
      },
    },
    curator: {
      requests: 1,
      awaited: 1,
      run: async (scene) => {
        const mutex = await scene.client.mutex(scene.path);
        await mutex.makeRevocable();
        await mutex.acquire();
        await scene.cost(() => mutex.release());
      },
    },
  },
  {
    operation: "mutex: acquire, the answer to the create lost",
    there: "lock",
    ours: {
      requests: 4,
      awaited: 3,
      run: async (scene) => {
        scene.link.faults.on({ op: "create2" }, { do: "close", when: "applied" });
        const handle = await scene.cost(() => scene.client.mutex(scene.path).acquire({ waitMs }));
        await handle.release();
      },
    },
    curator: {
      requests: 3,
      awaited: 3,
      run: async (scene) => {
        const mutex = await scene.client.mutex(scene.path);
        scene.link.faults.on({ op: "create2" }, { do: "close", when: "applied" });
        await scene.cost(() => mutex.acquire({ waitMs }), { peerAsks: 1 });
        await mutex.release();
      },
    },
  },
];
