import { type LockHandle, MemorySpace, memoryLocks, type ProviderOptions } from "@holdfast/core";
import { type SimulatedRuntime, simulatedRuntime } from "@holdfast/core/testing";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  acquireBy,
  after,
  type Contender,
  contender,
  type Fault,
  faultOf,
  runToEnd,
  threeWith,
  Witness,
} from "./race-support.js";
import { SimulatedServer } from "./simulated-server.js";

const keeping: ProviderOptions = { keepMs: 30, maxKeepMs: 100, fenceBy: "token-and-turn" };

/** Comes back again and again, so that there is something to keep. */
async function contendAgain(
  runtime: SimulatedRuntime,
  acquire: (options: { waitMs?: number; signal?: AbortSignal }) => Promise<LockHandle>,
  plan: Contender & { readonly rounds: number },
  witness: Witness,
): Promise<void> {
  for (let round = 0; round < plan.rounds; round++) {
    const handle = await acquireBy(runtime, acquire, { ...plan, startMs: round === 0 ? plan.startMs : 1 });
    if (handle === null) continue;
    witness.enter(handle);
    await after(runtime, plan.holdMs);
    witness.leave(handle);
    await handle.release();
  }
}

const rounds = fc.integer({ min: 1, max: 2 });
/** One owner that comes back often, and others that come by. */
const plansOf = fc
  .tuple(
    fc.array(fc.tuple(contender, fc.integer({ min: 6, max: 20 })), { minLength: 1, maxLength: 1 }),
    fc.array(fc.tuple(contender, rounds), { maxLength: 4 }),
  )
  .map(([regulars, others]) => [
    ...regulars.map(([plan, times]) => ({
      ...plan,
      ...{ provider: 0, abortMs: null, waitMs: null, holdMs: plan.holdMs / 5 },
      rounds: times,
    })),
    ...others.map(([plan, times]) => ({ ...plan, rounds: times })),
  ]);

describe("kept locks with abort, time-out, grant, release and faults in any order", () => {
  it("in memory: never two holders, pairs of token and turn rise, nothing is left once it was idle for long enough", async () => {
    let lent = 0;
    await fc.assert(
      fc.asyncProperty(plansOf, fc.nat(), async (plans, seed) => {
        const runtime = simulatedRuntime(seed);
        const space = new MemorySpace();
        const providers = [0, 1, 2].map(() => memoryLocks({ space, runtime, ...keeping }));
        const witness = new Witness();
        const work = plans.map((plan) =>
          contendAgain(
            runtime,
            (options) => (providers[plan.provider] ?? raise()).mutex("a").acquire(options),
            plan,
            witness,
          ),
        );
        await runToEnd(
          runtime,
          Promise.all(work).then(() => after(runtime, 200)),
        );
        lent += witness.lent;
        expect(witness.overlaps).toBe(0);
        expect(witness.pairs).toEqual([...witness.pairs].sort((a, b) => Number(a - b)));
        expect(new Set(witness.pairs).size).toBe(witness.pairs.length);
        expect(space.names()).toEqual([]);
        expect(providers.flatMap((provider) => [...provider.holds(), ...provider.kept()])).toEqual([]);
      }),
      { numRuns: 100 },
    );
    // The property says nothing if nothing is ever lent.
    expect(lent).toBeGreaterThan(500);
  });

  const run = async (plans: readonly (Contender & { rounds: number })[], faults: Fault[], seed: number) => {
    const runtime = simulatedRuntime(seed);
    const server = new SimulatedServer(runtime, "session");
    const all = threeWith(runtime, server, "session", faults, keeping);
    const witness = new Witness();
    const work = plans.map((plan) =>
      contendAgain(
        runtime,
        (options) => (all[plan.provider]?.provider ?? raise()).mutex("a").acquire(options),
        plan,
        witness,
      ),
    );
    await runToEnd(
      runtime,
      Promise.all(work).then(() => after(runtime, 30_000)),
    );
    return { server, witness, all };
  };

  it("with sessions: cuts and blocked loops never make two believe that they hold, and leave nothing behind", async () => {
    let lent = 0;
    await fc.assert(
      fc.asyncProperty(
        plansOf,
        fc.array(faultOf("cut", "cut", "block"), { maxLength: 4 }),
        fc.nat(),
        async (plans, faults, seed) => {
          const { server, witness, all } = await run(plans, faults, seed);
          lent += witness.lent;
          expect(witness.overlaps).toBe(0);
          expect(server.space.names()).toEqual([]);
          expect(all.flatMap(({ provider }) => [...provider.holds(), ...provider.kept()])).toEqual([]);
        },
      ),
      { numRuns: 150 },
    );
    expect(lent).toBeGreaterThan(500);
  });

  it("with sessions that the server ends: nothing is left behind, and no pair of token and turn is given twice", async () => {
    await fc.assert(
      fc.asyncProperty(
        plansOf,
        fc.array(faultOf("cut", "expire", "expire"), { maxLength: 4 }),
        fc.nat(),
        async (plans, faults, seed) => {
          const { server, witness } = await run(plans, faults, seed);
          expect(new Set(witness.pairs).size).toBe(witness.pairs.length);
          expect(server.space.names()).toEqual([]);
        },
      ),
      { numRuns: 100 },
    );
  });
});

function raise(): never {
  throw new Error("no such provider");
}
