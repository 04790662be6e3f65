import { type LockHandle, type LockProvider, MemorySpace } from "@holdfast/core";
import {
  type AcquireSpecs,
  acquireKeys,
  claimAll,
  type GrantEngine,
  resolveAcquireOptions,
  viewPartsOf,
} from "@holdfast/core/internal";
import {
  memoryControls,
  type SimulatedRuntime,
  seededRandom,
  simulatedRuntime,
} from "@holdfast/core/testing";
import { multiLock } from "@holdfast/multi-lock";
import { describe, expect, it } from "vitest";
import { jointly, type Together, worldProvider } from "./world.js";

const names = ["a", "b", "c", "d", "e"] as const;
const seeds = [1, 7, 20_061, 88_172, 3_735_928_559];

/** Knows which client is inside which lock. Throws as soon as two clients are inside one lock. */
class Floor {
  readonly #inside = new Map<string, string>();
  turns = 0;

  enter(who: string, names: readonly string[]): void {
    for (const name of names) {
      const other = this.#inside.get(name);
      if (other !== undefined) throw new Error(`${who} and ${other} are both inside ${name}`);
      this.#inside.set(name, who);
    }
    this.turns++;
  }

  leave(names: readonly string[]): void {
    for (const name of names) this.#inside.delete(name);
  }
}

interface Client {
  readonly who: string;
  readonly locks: LockProvider;
  /** Takes these names: as one multi-lock, or one after the other by name, as Curator's multi-lock over sorted paths does. */
  take(names: readonly string[]): Promise<{ release(): Promise<unknown> }>;
}

function atOnce(who: string, locks: LockProvider, providerOf = (_name: string) => locks): Client {
  return {
    who,
    locks,
    take: (names) => multiLock(names.map((name) => providerOf(name).mutex(name))).acquire(),
  };
}

function oneByOne(who: string, locks: LockProvider): Client {
  return {
    who,
    locks,
    async take(names) {
      const held: LockHandle[] = [];
      for (const name of [...names].sort()) held.push(await locks.mutex(name).acquire());
      return { release: () => Promise.all(held.map((handle) => handle.release())) };
    },
  };
}

function shuffled<T>(items: readonly T[], random: () => number): T[] {
  return items
    .map((item) => ({ item, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

/** Every client takes sets of two or more locks, each set in random order, until it has had its rounds. */
async function contend(
  runtime: SimulatedRuntime,
  seed: number,
  clients: readonly Client[],
  rounds: number,
): Promise<void> {
  const floor = new Floor();
  const running = runtime.autoAdvance();
  try {
    const pass = (ms: number) => new Promise<void>((resolve) => runtime.setTimer(ms, resolve, { ref: true }));
    await Promise.all(
      clients.map(async ({ who, take }, index) => {
        const random = seededRandom(seed + index);
        for (let round = 0; round < rounds; round++) {
          const set = shuffled(names, random).slice(0, 2 + Math.floor(random() * 3));
          const held = await take(index % 2 === 0 ? set : set.reverse());
          floor.enter(who, set);
          await pass(random() * 3);
          floor.leave(set);
          await held.release();
          if (random() < 0.5) await pass(random() * 2);
        }
      }),
    );
  } finally {
    running[Symbol.dispose]();
  }
  expect(floor.turns).toBe(clients.length * rounds);
  for (const { locks } of clients) {
    expect(locks.holds()).toEqual([]);
    for (const name of names) expect(memoryControls(locks).entries(name), name).toBe(0);
  }
}

describe.each<Together>(["one by one", "all at once"])(
  "overlapping sets in any order, taken %s",
  (together) => {
    it.each(seeds)("are no deadlock for two clients, and none is held in part (seed %i)", async (seed) => {
      const runtime = simulatedRuntime(seed);
      const world = { runtime, together, space: new MemorySpace() };
      await contend(
        runtime,
        seed,
        ["first", "second"].map((who) => atOnce(who, worldProvider(world))),
        500,
      );
    });

    it.each(seeds)("are none for three, one of them taking single locks by name (seed %i)", async (seed) => {
      const runtime = simulatedRuntime(seed);
      const world = { runtime, together, space: new MemorySpace() };
      const before = jointly.refused;
      await contend(
        runtime,
        seed,
        [
          atOnce("first", worldProvider(world)),
          atOnce("second", worldProvider(world)),
          oneByOne("singles", worldProvider(world)),
        ],
        500,
      );
      // Both ways were used: together when all locks were free, and one after the other when not.
      if (together === "all at once") expect(jointly.refused).toBeGreaterThan(before);
    });

    it.each(seeds)("are none where another backend's locks stand between them (seed %i)", async (seed) => {
      const runtime = simulatedRuntime(seed);
      const [one, other] = [new MemorySpace(), new MemorySpace()];
      const clients = ["first", "second", "third"].map((who) => {
        const locks = worldProvider({ runtime, together, space: one });
        const elsewhere = worldProvider({ runtime, together, space: other });
        // c and d are locks of the other backend. So a, b and e stand side by side only in sets without c and d.
        return atOnce(who, locks, (name) => (name === "c" || name === "d" ? elsewhere : locks));
      });
      await contend(runtime, seed, clients, 300);
    });
  },
);

describe("a place taken in several queues at once, and kept while one waits", () => {
  it("stops for ever a client that takes the same locks one by one, in order; a multi-lock does not wait like that", async () => {
    const runtime = simulatedRuntime(1);
    const running = runtime.autoAdvance();
    const space = new MemorySpace();
    const [locks, theirs] = [1, 2].map(() => worldProvider({ runtime, together: "all at once", space })) as [
      LockProvider,
      LockProvider,
    ];
    const first = await theirs.mutex("a").acquire();
    // What `multiLock` would do if it waited for several locks together, instead of asking for them only once.
    const views = ["a", "b"].map((name) => viewPartsOf(locks.mutex(name)));
    const specs = views.map((view) => {
      if (view === undefined) throw new Error("not a view of core's");
      return view.spec(resolveAcquireOptions("acquire", { waitMs: 60_000 }, view.defaults, acquireKeys.view));
    });
    const waiting = claimAll(views[0]?.engine as GrantEngine, specs as unknown as AcquireSpecs);
    expect(await theirs.mutex("b").tryAcquire({ waitMs: 30_000 })).toBeNull();
    expect(await waiting).toBeNull();
    await first.release();

    // The same with a multi-lock: it waits for "a", and "b" stays free for other clients.
    const again = await theirs.mutex("a").acquire();
    const both = multiLock([locks.mutex("a"), locks.mutex("b")]).acquire({ waitMs: 60_000 });
    const second = await theirs.mutex("b").tryAcquire({ waitMs: 30_000 });
    expect(second?.state).toBe("held");
    await second?.release();
    await again.release();
    await (await both).release();
    running[Symbol.dispose]();
  });
});
