import { multiLock } from "@holdfast/multi-lock";
import type { ZooKeeperLocks } from "@holdfast/zk-recipes";
import type { Row, Scene } from "./scene.js";

const parts = 3;

/** The paths of the parts. Each was used once, so that it exists. */
async function pathsOf({ rival, path }: Scene<unknown>): Promise<string[]> {
  const paths = Array.from({ length: parts }, (_, i) => `${path}/part-${i}`);
  for (const each of paths) await (await rival.mutex(each).acquire()).release();
  return paths;
}

async function lockOf(scene: Scene<ZooKeeperLocks>) {
  return multiLock((await pathsOf(scene)).map((each) => scene.client.mutex(each)));
}

export const multiLockRows: readonly Row[] = [
  {
    operation: `multi lock of ${parts}: acquire`,
    fewer: true,
    ours: {
      requests: 4,
      awaited: 1,
      run: async (scene) => {
        const lock = await lockOf(scene);
        await (await scene.cost(() => lock.acquire())).release();
      },
    },
    curator: {
      requests: 2 * parts,
      awaited: 2 * parts,
      run: async (scene) => {
        const lock = await scene.client.multiLock(await pathsOf(scene));
        await scene.cost(() => lock.acquire());
        await lock.release();
      },
    },
  },
  {
    operation: `multi lock of ${parts}: release`,
    fewer: true,
    ours: {
      requests: parts,
      awaited: 1,
      run: async (scene) => {
        const lock = await lockOf(scene);
        const handle = await lock.acquire({ revocable: true });
        await scene.answered("getData", parts);
        await scene.cost(() => handle.release());
      },
    },
    curator: {
      requests: parts,
      awaited: parts,
      run: async (scene) => {
        const lock = await scene.client.multiLock(await pathsOf(scene));
        await lock.acquire();
        await scene.cost(() => lock.release());
      },
    },
  },
];
