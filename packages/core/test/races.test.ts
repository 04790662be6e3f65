import { type LockHandle, MemorySpace, memoryLocks } from "@holdfast/core";
import { type SimulatedRuntime, simulatedRuntime } from "@holdfast/core/testing";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Simulated, simulatedLocks } from "./simulated-driver.js";
import { SimulatedServer } from "./simulated-server.js";

interface Contender {
  readonly provider: number;
  readonly startMs: number;
  readonly waitMs: number | null;
  readonly abortMs: number | null;
  readonly holdMs: number;
}

interface Fault {
  readonly atMs: number;
  readonly provider: number;
  readonly forMs: number;
  readonly what: "cut" | "block" | "expire";
}

const small = fc.integer({ min: 0, max: 40 });
const contender: fc.Arbitrary<Contender> = fc.record({
  provider: fc.integer({ min: 0, max: 2 }),
  startMs: small,
  waitMs: fc.option(small),
  abortMs: fc.option(small),
  holdMs: fc.integer({ min: 0, max: 20 }),
});
const faultOf = (...whats: Fault["what"][]): fc.Arbitrary<Fault> =>
  fc.record({
    atMs: fc.integer({ min: 0, max: 80 }),
    provider: fc.integer({ min: 0, max: 2 }),
    forMs: fc.oneof(fc.integer({ min: 1, max: 40 }), fc.constantFrom(3_000, 7_000, 12_000)),
    what: fc.constantFrom(...whats),
  });

const after = (runtime: SimulatedRuntime, delayMs: number) =>
  new Promise<void>((resolve) => runtime.setTimer(delayMs, resolve));

/** Whoever does not hear of a loss by asking believes to hold: there must never be two. */
class Witness {
  readonly believers = new Set<LockHandle>();
  readonly tokens: bigint[] = [];
  overlaps = 0;
  granted = 0;

  enter(handle: LockHandle): void {
    this.granted++;
    for (const other of this.believers) {
      if (other.state === "held" || other.state === "uncertain") this.overlaps++;
    }
    this.believers.add(handle);
    this.tokens.push(handle.token ?? 0n);
  }

  leave(handle: LockHandle): void {
    this.believers.delete(handle);
  }
}

async function contend(
  runtime: SimulatedRuntime,
  acquire: (options: { waitMs?: number; signal?: AbortSignal }) => Promise<LockHandle>,
  plan: Contender,
  witness: Witness,
): Promise<"granted" | "refused"> {
  await after(runtime, plan.startMs);
  const controller = new AbortController();
  if (plan.abortMs !== null) runtime.setTimer(plan.abortMs, () => controller.abort("aborted by the plan"));
  let handle: LockHandle;
  try {
    handle = await acquire({
      ...(plan.waitMs === null ? {} : { waitMs: plan.waitMs }),
      ...(plan.abortMs === null ? {} : { signal: controller.signal }),
    });
  } catch (error) {
    if (error === "aborted by the plan") return "refused";
    if (["HF_ACQUIRE_TIMEOUT", "HF_BACKEND"].includes((error as { code?: string }).code ?? ""))
      return "refused";
    throw error;
  }
  witness.enter(handle);
  await after(runtime, plan.holdMs);
  witness.leave(handle);
  await handle.release();
  return "granted";
}

async function runToEnd<T>(runtime: SimulatedRuntime, work: Promise<T>): Promise<T> {
  const running = runtime.autoAdvance();
  const limit = new Promise<never>((_, reject) =>
    runtime.setTimer(600_000, () =>
      reject(new Error("not everybody had settled after ten simulated minutes")),
    ),
  );
  try {
    return await Promise.race([work, limit]);
  } finally {
    running[Symbol.dispose]();
  }
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
      const all: Simulated[] = [0, 1, 2].map(() =>
        simulatedLocks(server, lease, { connectTimeoutMs: 20_000 }, 2_000),
      );
      const witness = new Witness();
      const work = plans.map((plan) =>
        contend(
          runtime,
          (options) => (all[plan.provider]?.provider ?? raise()).mutex("a").acquire(options),
          plan,
          witness,
        ),
      );
      for (const fault of faults) {
        runtime.setTimer(fault.atMs, () => {
          const link = all[fault.provider]?.link;
          if (fault.what === "block") runtime.block(fault.forMs);
          else if (fault.what === "expire") link?.expire();
          else {
            link?.cut();
            runtime.setTimer(fault.forMs, () => link?.mend());
          }
        });
      }
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
