import type { ProviderOptions } from "@holdfast/core";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { contender, faultOf, raceInMemory, raceOnServer } from "./race-support.js";

const keeping: ProviderOptions = { keepMs: 30, maxKeepMs: 100, fenceBy: "token-and-turn" };

const rounds = fc.integer({ min: 1, max: 2 });
/** One owner that takes the lock 6 to 20 times, and others that take it once or twice. */
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
        const { space, witness, providers } = await raceInMemory(plans, seed, { ...keeping, restMs: 200 });
        lent += witness.lent;
        expect(witness.overlaps).toBe(0);
        expect(witness.pairs).toEqual([...witness.pairs].sort((a, b) => Number(a - b)));
        expect(new Set(witness.pairs).size).toBe(witness.pairs.length);
        expect(space.names()).toEqual([]);
        expect(providers.flatMap((provider) => [...provider.holds(), ...provider.kept()])).toEqual([]);
      }),
      { numRuns: 100 },
    );
    // If no lock is ever lent, the property proves nothing.
    expect(lent).toBeGreaterThan(500);
  });

  it("with sessions: cuts and blocked loops never make two believe that they hold, and leave nothing behind", async () => {
    let lent = 0;
    await fc.assert(
      fc.asyncProperty(
        plansOf,
        fc.array(faultOf("cut", "cut", "block"), { maxLength: 4 }),
        fc.nat(),
        async (plans, faults, seed) => {
          const { server, witness, providers } = await raceOnServer("session", plans, faults, seed, keeping);
          lent += witness.lent;
          expect(witness.overlaps).toBe(0);
          expect(server.space.names()).toEqual([]);
          expect(providers.flatMap((provider) => [...provider.holds(), ...provider.kept()])).toEqual([]);
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
          const { server, witness } = await raceOnServer("session", plans, faults, seed, keeping);
          expect(new Set(witness.pairs).size).toBe(witness.pairs.length);
          expect(server.space.names()).toEqual([]);
        },
      ),
      { numRuns: 100 },
    );
  });
});
