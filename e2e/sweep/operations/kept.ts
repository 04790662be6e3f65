import type { Stage } from "../support/stage.js";
import { givenUp, type Operation } from "./operation.js";

const options = { keepMs: 1_000, maxKeepMs: 5_000, fenceBy: "token-and-turn" } as const;

async function pair(stage: Stage, label: string): Promise<void> {
  await stage.release(label, await stage.acquire(label));
}

/** Three pairs: the first makes the parents; after the third the lock is kept, unless a fault came between. */
async function keep(stage: Stage): Promise<void> {
  for (let times = 0; times < 3; times++) await pair(stage, "A");
}

/** The operations of a lock that its provider keeps for the next owner. */
export const keptOperations: readonly Operation[] = [
  {
    name: "a lock that is kept, lent twice, and ends by itself",
    clients: ["A"],
    options,
    before: (stage) => pair(stage, "A"),
    async act(stage) {
      await keep(stage);
      for (let lends = 0; lends < 2; lends++) await pair(stage, "A");
      await stage.world.sleep(1_500);
      await pair(stage, "A");
    },
  },
  {
    name: "an idle kept lock that another client asks for",
    clients: ["A", "B"],
    races: true,
    options,
    before: keep,
    async act(stage) {
      const theirs = pair(stage, "B");
      await stage.world.sleep(10);
      await pair(stage, "A");
      await theirs;
    },
  },
  {
    name: "a lent lock that another client asks for while an owner waits in memory",
    clients: ["A", "B"],
    options,
    before: keep,
    async act(stage) {
      const mine = await stage.acquire("A");
      const next = pair(stage, "A");
      await stage.world.sleep(5);
      const theirs = pair(stage, "B");
      await stage.world.sleep(50);
      await stage.release("A", mine);
      await Promise.all([next, theirs]);
      await keep(stage);
    },
  },
  {
    name: "tryAcquire on a kept lock",
    clients: ["A", "B"],
    races: true,
    options,
    before: keep,
    async act(stage) {
      await stage.release("B", await stage.allow(() => stage.lock("B").tryAcquire(), givenUp));
      await pair(stage, "A");
    },
  },
  {
    name: "a reconnect of a client that keeps a lock, and one that waits for it",
    clients: ["A", "B"],
    options,
    before: keep,
    async act(stage) {
      stage.world.server.dropConnection(stage.client("A").session);
      const theirs = pair(stage, "B");
      await stage.world.sleep(200);
      await pair(stage, "A");
      await theirs;
    },
  },
  {
    name: "a provider that closes with a kept lock",
    clients: ["A", "B"],
    options,
    before: keep,
    async act(stage) {
      const theirs = pair(stage, "B");
      await stage.client("A").locks.close();
      await theirs;
    },
  },
];
