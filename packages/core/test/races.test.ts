import { type LockHandle, MemorySpace, memoryLocks } from "@holdfast/core";
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

async function contend(
  runtime: SimulatedRuntime,
  acquire: (options: { waitMs?: number; signal?: AbortSignal }) => Promise<LockHandle>,
  plan: Contender,
  witness: Witness,
): Promise<void> {
  const handle = await acquireBy(runtime, acquire, plan);
  if (handle === null) return;
  witness.enter(handle);
  await after(runtime, plan.holdMs);
  witness.leave(handle);
  await handle.release();
}

describe("abort, time-out, grant, release and faults in any order", () => {
  it("in memory: never two holders, nothing left queued, everybody settles", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(contender, { maxLength: 12 }), fc.nat(), async (plans, seed) => {
        const runtime = simulatedRuntime(seed);
        const space = new MemorySpace();
        const providers = [0, 1, 2].map(() => memoryLocks({ space, runtime }));
        const witness = new Witness();
        const all = plans.map((plan) =>
          contend(
            runtime,
            (options) => (providers[plan.provider] ?? raise()).mutex("a").acquire(options),
            plan,
            witness,
          ),
        );
        await runToEnd(runtime, Promise.all(all));
        expect(witness.overlaps).toBe(0);
        expect(witness.tokens).toEqual([...witness.tokens].sort((a, b) => Number(a - b)));
        expect(space.names()).toEqual([]);
        expect(providers.flatMap((provider) => provider.holds())).toEqual([]);
      }),
      { numRuns: 150 },
    );
  });

  for (const lease of ["session", "ttl"] as const) {
    const run = async (plans: Contender[], faults: Fault[], seed: number) => {
      const runtime = simulatedRuntime(seed);
      const server = new SimulatedServer(runtime, lease);
      const all = threeWith(runtime, server, lease, faults);
      const witness = new Witness();
      const work = plans.map((plan) =>
        contend(
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

    it(`${lease}: cuts and blocked loops never make two believe that they hold, and leave nothing behind`, async () => {
      let grants = 0;
      await fc.assert(
        fc.asyncProperty(
          fc.array(contender, { maxLength: 10 }),
          fc.array(faultOf("cut", "cut", "block"), { maxLength: 4 }),
          fc.nat(),
          async (plans, faults, seed) => {
            const { server, witness, all } = await run(plans, faults, seed);
            grants += witness.granted;
            expect(witness.overlaps).toBe(0);
            expect(server.space.names()).toEqual([]);
            expect(all.flatMap(({ provider }) => provider.holds())).toEqual([]);
          },
        ),
        { numRuns: 200 },
      );
      // The property says nothing if nobody is ever granted.
      expect(grants).toBeGreaterThan(100);
    });

    it(`${lease}: sessions ended by the server leave nothing behind, everybody settles, tokens rise`, async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(contender, { maxLength: 10 }),
          fc.array(faultOf("cut", "expire", "expire"), { maxLength: 4 }),
          fc.nat(),
          async (plans, faults, seed) => {
            const { server, witness } = await run(plans, faults, seed);
            expect(new Set(witness.tokens).size).toBe(witness.tokens.length);
            expect(server.space.names()).toEqual([]);
          },
        ),
        { numRuns: 100 },
      );
    });
  }
});

function raise(): never {
  throw new Error("no such provider");
}
