import type { Semaphore } from "@holdfast/core";
import type { Held } from "../recipes.js";
import { permitsLabel } from "../support/believers.js";
import type { Stage } from "../support/stage.js";
import { givenUp, type Operation } from "./operation.js";

/** The recipe of the stage has three permits. */
const limit = 3;

function semaphore(stage: Stage, label: string): Semaphore {
  return stage.client(label).locks.semaphore(stage.path, limit);
}

function take(stage: Stage, label: string, permits: number, waitMs = Infinity): Promise<Held | null> {
  const options = { permits, label: permitsLabel(permits), waitMs };
  return stage.allow(() => semaphore(stage, label).acquire(options), waitMs === Infinity ? [] : givenUp);
}

async function takeAndRelease(stage: Stage, label: string, permits: number): Promise<void> {
  await stage.release(label, await take(stage, label, permits));
}

export const permitOperations: readonly Operation[] = [
  {
    name: "a permit beside others",
    clients: ["A", "B"],
    async before(stage) {
      await stage.release("A", await take(stage, "A", 1));
    },
    async act(stage) {
      const held = await take(stage, "A", 2);
      await takeAndRelease(stage, "B", 1);
      await stage.release("A", held);
    },
  },
  {
    name: "a batch that waits for two releases, and a small request behind it",
    clients: ["A", "B", "C"],
    async act(stage) {
      const [one, two] = [await take(stage, "A", 1), await take(stage, "A", 1)];
      const batch = takeAndRelease(stage, "B", 3);
      await stage.whenQueued(3);
      const small = takeAndRelease(stage, "C", 1);
      await stage.whenQueued(4);
      await stage.release("A", one);
      await stage.world.sleep(20);
      await stage.release("A", two);
      await Promise.all([batch, small]);
    },
  },
  {
    name: "a batch at the head that gives up",
    clients: ["A", "B", "C"],
    async act(stage) {
      const held = await take(stage, "A", 2);
      const batch = take(stage, "B", 2, 60);
      await stage.whenQueued(3);
      const small = takeAndRelease(stage, "C", 1);
      await stage.release("B", await batch);
      await small;
      await stage.release("A", held);
    },
  },
  {
    name: "a holder of permits that reconnects while the next waits",
    clients: ["A", "B"],
    async act(stage) {
      const held = await take(stage, "A", 3);
      const next = takeAndRelease(stage, "B", 2);
      await stage.whenQueued(4);
      for (const { session } of stage.clients) stage.world.server.dropConnection(session);
      await stage.world.sleep(200);
      await stage.release("A", held);
      await next;
    },
  },
];
