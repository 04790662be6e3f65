import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { contender, faultOf, raceInMemory, raceOnServer } from "./race-support.js";

const once = contender.map((plan) => ({ ...plan, rounds: 1 }));

describe("abort, time-out, grant, release and faults in any order", () => {
  it("in memory: never two holders, nothing left queued, every call settles", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(once, { maxLength: 12 }), fc.nat(), async (plans, seed) => {
        const { space, witness, providers } = await raceInMemory(plans, seed);
        expect(witness.overlaps).toBe(0);
        expect(witness.tokens).toEqual([...witness.tokens].sort((a, b) => Number(a - b)));
        expect(space.names()).toEqual([]);
        expect(providers.flatMap((provider) => provider.holds())).toEqual([]);
      }),
      { numRuns: 150 },
    );
  });

  for (const lease of ["session", "ttl"] as const) {
    it(`${lease}: cuts and blocked loops never make two believe that they hold, and leave nothing behind`, async () => {
      let grants = 0;
      await fc.assert(
        fc.asyncProperty(
          fc.array(once, { maxLength: 10 }),
          fc.array(faultOf("cut", "cut", "block"), { maxLength: 4 }),
          fc.nat(),
          async (plans, faults, seed) => {
            const { server, witness, providers } = await raceOnServer(lease, plans, faults, seed);
            grants += witness.granted;
            expect(witness.overlaps).toBe(0);
            expect(server.space.names()).toEqual([]);
            expect(providers.flatMap((provider) => provider.holds())).toEqual([]);
          },
        ),
        { numRuns: 200 },
      );
      // If no call is ever granted, the property proves nothing.
      expect(grants).toBeGreaterThan(100);
    });

    it(`${lease}: sessions ended by the server leave nothing behind, every call settles, tokens rise`, async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(once, { maxLength: 10 }),
          fc.array(faultOf("cut", "expire", "expire"), { maxLength: 4 }),
          fc.nat(),
          async (plans, faults, seed) => {
            const { server, witness } = await raceOnServer(lease, plans, faults, seed);
            expect(new Set(witness.tokens).size).toBe(witness.tokens.length);
            expect(server.space.names()).toEqual([]);
          },
        ),
        { numRuns: 100 },
      );
    });
  }
});
