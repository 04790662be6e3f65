import { eventually } from "@holdfast/test-servers";
import type { CuratorLeaderLatch } from "../../support/curator/java-peer.js";
import type { Row, Scene } from "./scene.js";

const waitMs = 20_000;

function untilLeads(latch: CuratorLeaderLatch): Promise<unknown> {
  return eventually(() => latch.hasLeadership(), { what: "Curator to lead", everyMs: 5 });
}

/** Leader elections, barriers and numbers. */
export const meetingRows: readonly Row[] = [
  {
    operation: "leader latch: until it leads",
    there: "lock",
    fewer: true,
    ours: {
      requests: 2,
      awaited: 1,
      run: async (scene) => {
        await (await scene.cost(() => scene.client.leaderElection(scene.path).campaign())).release();
      },
    },
    curator: {
      requests: 2,
      awaited: 2,
      run: async (scene) => {
        const latch = await scene.client.leaderLatch(scene.path, "curator");
        await scene.cost(async () => {
          await latch.start();
          await untilLeads(latch);
        });
        await latch.close();
      },
    },
  },
  {
    operation: "leader latch: until it follows",
    there: "lock",
    fewer: true,
    ours: {
      requests: 3,
      awaited: 2,
      run: async (scene) => {
        const term = await scene.rival.leaderElection(scene.path).campaign();
        const waiting = await scene.cost(async () => {
          const granted = scene.client.leaderElection(scene.path).campaign({ waitMs });
          await scene.answered("setWatches");
          return { granted };
        });
        await term.release();
        await (await waiting.granted).release();
      },
    },
    curator: {
      requests: 3,
      awaited: 3,
      run: async (scene) => {
        const term = await scene.rival.leaderElection(scene.path).campaign();
        const latch = await scene.client.leaderLatch(scene.path, "curator");
        await scene.cost(async () => {
          await latch.start();
          await scene.answered("getData");
        });
        await term.release();
        await latch.close();
      },
    },
  },
  {
    operation: "leader latch: hand-over to the next",
    there: "lock",
    fewer: true,
    ours: {
      requests: 0,
      awaited: 0,
      run: async (scene) => {
        const term = await scene.rival.leaderElection(scene.path).campaign();
        const granted = scene.client.leaderElection(scene.path).campaign({ waitMs });
        await scene.answered("setWatches");
        const next = await scene.cost(async () => {
          await term.release();
          return await granted;
        });
        await next.release();
      },
    },
    curator: {
      requests: 1,
      awaited: 1,
      run: async (scene) => {
        const term = await scene.rival.leaderElection(scene.path).campaign();
        const latch = await scene.client.leaderLatch(scene.path, "curator");
        await latch.start();
        await scene.answered("getData");
        await scene.cost(async () => {
          await term.release();
          await untilLeads(latch);
        });
        await latch.close();
      },
    },
  },
  {
    operation: "leader latch: step down",
    there: "lock",
    ours: {
      requests: 1,
      awaited: 1,
      run: async (scene) => {
        const term = await scene.client.leaderElection(scene.path).campaign({ revocable: true });
        await scene.answered("getData");
        await scene.cost(() => term.release());
      },
    },
    curator: {
      requests: 1,
      awaited: 1,
      run: async (scene) => {
        const latch = await scene.client.leaderLatch(scene.path, "curator");
        await latch.start();
        await untilLeads(latch);
        await scene.cost(async () => {
          await latch.close();
          await scene.answered("delete");
        });
      },
    },
  },
  {
    operation: "leader selector: until it leads",
    there: "lock",
    fewer: true,
    ours: {
      requests: 2,
      awaited: 1,
      run: async (scene) => {
        const election = scene.client.leaderElection(scene.path, { layout: "selector" });
        await (await scene.cost(() => election.campaign())).release();
      },
    },
    curator: {
      requests: 2,
      awaited: 2,
      run: async (scene) => {
        const selector = await scene.client.leaderSelector(scene.path, "curator");
        await scene.cost(async () => {
          await selector.start();
          await eventually(() => selector.terms === 1, { what: "Curator to lead", everyMs: 5 });
        });
        await selector.resign();
        await selector.close();
      },
    },
  },
  {
    operation: "atomic long: add",
    ours: {
      requests: 2,
      awaited: 2,
      run: async (scene) => {
        const long = scene.client.atomicLong(scene.path);
        await long.set(1n);
        await scene.cost(() => long.add(1n));
      },
    },
    curator: {
      requests: 2,
      awaited: 2,
      run: async (scene) => {
        await scene.rival.atomicLong(scene.path).set(1n);
        const long = await scene.client.atomicLong(scene.path);
        await scene.cost(() => long.add(1n));
      },
    },
  },
  {
    operation: "shared count: begin",
    ours: {
      requests: 3,
      awaited: 2,
      run: async (scene) => {
        await scene.cost(() => scene.client.sharedCount(scene.path, 1).get());
      },
    },
    curator: {
      requests: 2,
      awaited: 2,
      run: async (scene) => {
        const count = await scene.client.sharedCount(scene.path, 1);
        await scene.cost(() => count.start());
        await count.close();
      },
    },
  },
  {
    operation: "shared count: set",
    ours: {
      requests: 1,
      awaited: 1,
      run: async (scene) => {
        const count = scene.client.sharedCount(scene.path, 1);
        await count.get();
        await scene.cost(() => count.set(2));
      },
    },
    curator: {
      // Curator reads the value after its own write, as after any change.
      requests: 2,
      awaited: 1,
      run: async (scene) => {
        const count = await scene.client.sharedCount(scene.path, 1);
        await count.start();
        const set = async () => {
          await count.set(2);
          await scene.asked("getData");
        };
        await scene.cost(set, { unawaited: "getData" });
        await count.close();
      },
    },
  },
  {
    operation: "shared count: try to set",
    dearer: "Curator's write falls on whatever node has as many writes, one made anew too; ours looks first",
    ours: {
      requests: 2,
      awaited: 2,
      run: async (scene) => {
        const count = scene.client.sharedCount(scene.path, 1);
        const seen = await count.get();
        await scene.cost(() => count.trySet(seen, 2));
      },
    },
    curator: {
      requests: 2,
      awaited: 1,
      run: async (scene) => {
        const count = await scene.client.sharedCount(scene.path, 1);
        await count.start();
        const seen = await count.get();
        const trySet = async () => {
          await count.trySet(seen, 2);
          await scene.asked("getData");
        };
        await scene.cost(trySet, { unawaited: "getData" });
        await count.close();
      },
    },
  },
  {
    operation: "barrier: shut",
    ours: {
      requests: 1,
      awaited: 1,
      run: async (scene) => {
        await scene.cost(() => scene.client.barrier(scene.path).shut());
      },
    },
    curator: {
      requests: 1,
      awaited: 1,
      run: async (scene) => {
        const barrier = await scene.client.barrier(scene.path);
        await scene.cost(() => barrier.set());
      },
    },
  },
  {
    operation: "barrier: open",
    ours: {
      requests: 1,
      awaited: 1,
      run: async (scene) => {
        await scene.rival.barrier(scene.path).shut();
        await scene.cost(() => scene.client.barrier(scene.path).open());
      },
    },
    curator: {
      requests: 1,
      awaited: 1,
      run: async (scene) => {
        await scene.rival.barrier(scene.path).shut();
        const barrier = await scene.client.barrier(scene.path);
        await scene.cost(() => barrier.remove());
      },
    },
  },
  {
    operation: "barrier: wait, once before it opens and once after",
    ours: {
      requests: 2,
      awaited: 2,
      run: async (scene) => {
        await scene.rival.barrier(scene.path).shut();
        await scene.cost(async () => {
          const open = scene.client.barrier(scene.path).wait();
          await scene.answered("getData");
          await scene.rival.barrier(scene.path).open();
          await open;
        });
      },
    },
    curator: {
      requests: 2,
      awaited: 2,
      run: async (scene) => {
        await scene.rival.barrier(scene.path).shut();
        const barrier = await scene.client.barrier(scene.path);
        await scene.cost(async () => {
          const open = barrier.wait({ waitMs });
          await scene.answered("exists");
          await scene.rival.barrier(scene.path).open();
          await open;
        });
      },
    },
  },
  {
    operation: "double barrier: enter as the last",
    there: "lock",
    fewer: true,
    ours: {
      requests: 4,
      awaited: 2,
      run: async (scene) => {
        const first = scene.rival.doubleBarrier(scene.path, 2).enter();
        await untilOneIsThere(scene);
        const inside = await scene.cost(() => scene.client.doubleBarrier(scene.path, 2).enter());
        await Promise.all([inside.leave(), (await first).leave()]);
      },
    },
    curator: {
      requests: 4,
      awaited: 4,
      run: async (scene) => {
        const first = scene.rival.doubleBarrier(scene.path, 2).enter();
        await untilOneIsThere(scene);
        const barrier = await scene.client.doubleBarrier(scene.path, 2);
        await scene.cost(() => barrier.enter());
        await Promise.all([barrier.leave(), (await first).leave()]);
      },
    },
  },
  {
    operation: "double barrier: leave as the only one",
    there: "lock",
    fewer: true,
    ours: {
      requests: 3,
      awaited: 2,
      run: async (scene) => {
        const inside = await scene.client.doubleBarrier(scene.path, 1).enter();
        await scene.cost(() => inside.leave());
      },
    },
    curator: {
      requests: 3,
      awaited: 3,
      run: async (scene) => {
        const barrier = await scene.client.doubleBarrier(scene.path, 1);
        await barrier.enter();
        await scene.cost(() => barrier.leave());
      },
    },
  },
];

/** Uses a group view, because the members of a barrier are nodes like those of a group. */
async function untilOneIsThere({ rival, path }: Pick<Scene<unknown>, "rival" | "path">): Promise<void> {
  const group = rival.groupMembership(path);
  await eventually(async () => (await group.members()).length === 1, { what: "the first at the barrier" });
}
