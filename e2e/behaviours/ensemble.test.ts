import type { LockHandle } from "@holdfast/core";
import { eventually, startEnsemble, type ZooKeeperEnsemble } from "@holdfast/test-servers";
import { type ZooKeeperLocks, zookeeperLocks } from "@holdfast/zk-recipes";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { Operator } from "../zookeeper/features/operator.js";
import { everyLock } from "./lock-recipes.js";

let ensemble: ZooKeeperEnsemble;
let startedMs: number;
let clients: ZooKeeperLocks[] = [];

beforeAll(async () => {
  startedMs = performance.now();
  ensemble = await startEnsemble({ tickTimeMs: 500, maxSessionTimeoutMs: 40_000 });
});
afterEach(async () => {
  await Promise.all(clients.map((locks) => locks.close({ releaseTimeoutMs: 500 })));
  clients = [];
});
afterAll(async () => {
  await ensemble.stop();
  console.log(`behaviours, an ensemble: ${((performance.now() - startedMs) / 1_000).toFixed(1)} s`);
});

async function connect(count: number, sessionTimeoutMs: number): Promise<ZooKeeperLocks[]> {
  clients = Array.from({ length: count }, () =>
    zookeeperLocks({
      connect: ensemble.connectString,
      sessionTimeoutMs,
      // The outages of these tests are longer than the default limits of a call.
      connectTimeoutMs: 60_000,
      releaseTimeoutMs: 60_000,
    }),
  );
  await Promise.all(clients.map((locks) => locks.ready()));
  return clients;
}

interface Work {
  readonly title: string;
  /** How many may hold at once. */
  readonly limit: number;
  acquire(locks: ZooKeeperLocks, path: string): Promise<Handle>;
}

type Handle = Pick<LockHandle, "state" | "release">;

const works: readonly Work[] = [
  ...everyLock.map(({ title, open }) => ({
    title,
    limit: 1,
    acquire: (locks: ZooKeeperLocks, path: string) => open(locks, path).acquire({ waitMs: 60_000 }),
  })),
  {
    title: "semaphore",
    limit: 3,
    acquire: (locks, path) => locks.semaphore(path, 3).acquire({ waitMs: 60_000 }),
  },
];

const fillWithinMs = 100;

/** Counts the holders of one lock. Fails a client as soon as too many handles say that they hold. */
class Contest {
  readonly work: Work;
  /** How often each client was served, by its index. */
  readonly served: number[] = [];
  /** The most that held at once. */
  peak = 0;
  readonly #holding = new Set<Handle>();

  constructor(work: Work) {
    this.work = work;
  }

  async enter(who: number, handle: Handle): Promise<void> {
    this.#holding.add(handle);
    this.served[who] = (this.served[who] ?? 0) + 1;
    const { title, limit } = this.work;
    const untilMs = performance.now() + fillWithinMs;
    // Gives others time to be granted wrongly and, if several may hold, time until so many hold.
    for (let turn = 0; turn < 3 || (this.#holding.size < limit && performance.now() < untilMs); turn++) {
      const states = [...this.#holding].map(({ state }) => state).filter((state) => state !== "lost");
      this.peak = Math.max(this.peak, states.length);
      expect(states.length, `${title}: ${states.join(", ")}`).toBeLessThanOrEqual(limit);
      await new Promise((resolve) => setImmediate(resolve));
    }
    this.#holding.delete(handle);
  }
}

describe("an ensemble", () => {
  it("40: that stops and starts again interrupts twenty clients, and all of them go on", async () => {
    const providers = await connect(20, 40_000);
    const lost: string[] = [];
    for (const { events } of providers) {
      events.on("lost", ({ name, reason }) => lost.push(`${name}: ${reason}`));
      events.on("requeued", ({ name, reason }) => lost.push(`${name}: ${reason}`));
    }
    const contests = works.map((work) => new Contest(work));
    let open = true;
    const loops = contests.flatMap((contest) =>
      providers.map(async (locks, who) => {
        while (open) {
          const handle = await contest.work.acquire(locks, `/forty/${contest.work.title}`);
          await contest.enter(who, handle);
          expect(await handle.release(), lost.join(", ")).toBe("released");
        }
      }),
    );
    const done = Promise.all(loops);
    const everybodyServed = (what: string) =>
      Promise.race([
        done,
        eventually(
          () => contests.every(({ served }) => providers.every((_, who) => (served[who] ?? 0) > 0)),
          {
            what,
            withinMs: 20_000,
          },
        ),
      ]);
    await everybodyServed("everybody to be served once");
    const stoppedMs = performance.now();
    await Promise.all(ensemble.nodes.map((node) => node.kill()));
    await eventually(() => providers.every(({ state }) => state === "suspended"), {
      what: "everybody to notice",
    });
    for (const { served } of contests) served.length = 0;
    await Promise.all(ensemble.nodes.map((node) => node.restart()));
    await everybodyServed("everybody to be served again");
    console.log(`twenty clients: everybody served again ${since(stoppedMs)} s after the ensemble stopped`);
    open = false;
    await done;
    expect(lost).toEqual([]);
    expect(contests.map(({ peak }) => peak)).toEqual(works.map(({ limit }) => limit));
  });

  it("39: that is replaced as a whole leaves no holder before, and exactly one afterwards", async () => {
    const providers = await connect(4, 2_000);
    const [first, ...others] = providers as [ZooKeeperLocks, ...ZooKeeperLocks[]];
    const contests = await Promise.all(
      everyLock.map(async (recipe) => {
        const path = `/thirty-nine/${recipe.title}`;
        const held = await recipe.open(first, path).acquire();
        const granted: LockHandle[] = [];
        const waits = others.map(async (locks) => {
          const handle = await recipe.open(locks, path).acquire({ waitMs: 60_000 });
          granted.push(handle);
          return handle;
        });
        return { recipe, path, held, granted, waits };
      }),
    );
    const ports = ensemble.nodes.map(({ port }) => port);
    const stoppedMs = performance.now();
    await ensemble.stop();
    // While no server can be reached, no client holds a lock for longer than the negotiated session time-out.
    await eventually(() => providers.every((locks) => locks.state !== "connected"), {
      what: "everybody to notice",
    });
    await eventually(() => contests.every(({ held }) => held.state === "lost"), {
      what: "the holders to be told",
      withinMs: 20_000,
    });
    console.log(`whole ensemble gone: holders told after ${since(stoppedMs)} s`);
    expect(providers.flatMap((locks) => locks.holds())).toEqual([]);
    expect(contests.flatMap(({ granted }) => granted)).toEqual([]);
    // The new servers at the same addresses are empty. They know none of the sessions, and count transactions from the start.
    ensemble = await startEnsemble({ tickTimeMs: 500, ports });
    const operator = await Operator.connect(ensemble.connectString);
    for (const { recipe, path, held, granted, waits } of contests) {
      await eventually(() => granted.length > 0, {
        what: `a holder of the ${recipe.title}`,
        withinMs: 20_000,
      });
      // All waiters have a place in the queue again. A client that could be granted the lock wrongly would be one of them.
      await eventually(async () => (await recipe.waiting(operator, path)) === others.length - 1, {
        what: `the others to wait for the ${recipe.title}`,
      });
      for (let served = 1; served <= others.length; served++) {
        await eventually(() => granted.length === served, {
          what: `holder ${served} of the ${recipe.title}`,
        });
        const handle = granted[served - 1] as LockHandle;
        await handle.confirm();
        expect(await recipe.open(first, path).tryAcquire()).toBeNull();
        expect(granted).toHaveLength(served);
        expect(await handle.release()).toBe("released");
      }
      await Promise.all(waits);
      expect(await held.release()).toBe("lost");
    }
    console.log(`whole ensemble replaced: all served ${since(stoppedMs)} s after it was gone`);
  });
});

function since(ms: number): string {
  return ((performance.now() - ms) / 1_000).toFixed(1);
}
