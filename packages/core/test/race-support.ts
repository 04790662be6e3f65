import {
  type LockHandle,
  type LockProvider,
  MemorySpace,
  memoryLocks,
  type ProviderOptions,
} from "@holdfast/core";
import { type SimulatedRuntime, simulatedRuntime } from "@holdfast/core/testing";
import fc from "fast-check";
import { type Simulated, simulatedLocks } from "./simulated-driver.js";
import { SimulatedServer } from "./simulated-server.js";

/** When one contender comes, how long it waits, and how long it holds. */
export interface Contender {
  readonly provider: number;
  readonly startMs: number;
  readonly waitMs: number | null;
  readonly abortMs: number | null;
  readonly holdMs: number;
}

export interface Fault {
  readonly atMs: number;
  readonly provider: number;
  readonly forMs: number;
  readonly what: "cut" | "block" | "expire";
}

const small = fc.integer({ min: 0, max: 40 });
export const contender: fc.Arbitrary<Contender> = fc.record({
  provider: fc.integer({ min: 0, max: 2 }),
  startMs: small,
  waitMs: fc.option(small),
  abortMs: fc.option(small),
  holdMs: fc.integer({ min: 0, max: 20 }),
});
export const faultOf = (...whats: Fault["what"][]): fc.Arbitrary<Fault> =>
  fc.record({
    atMs: fc.integer({ min: 0, max: 80 }),
    provider: fc.integer({ min: 0, max: 2 }),
    forMs: fc.oneof(fc.integer({ min: 1, max: 40 }), fc.constantFrom(3_000, 7_000, 12_000)),
    what: fc.constantFrom(...whats),
  });

export const after = (runtime: SimulatedRuntime, delayMs: number) =>
  new Promise<void>((resolve) => runtime.setTimer(delayMs, resolve));

/**
 * Counts the callers that believe to hold: each whose handle does not say that it is lost. There must never be two such callers
 * at once, unless both read.
 */
export class Witness {
  readonly believers = new Set<LockHandle>();
  readonly tokens: bigint[] = [];
  /** Token and turn of each grant in one number, in the order of the grants. */
  readonly pairs: bigint[] = [];
  /** The number of grants that were lent by a provider that had kept the lock. */
  lent = 0;
  overlaps = 0;
  granted = 0;
  /** How often a reader came in while another reader held. */
  together = 0;
  downgraded = 0;

  enter(handle: LockHandle, how?: "with the write's token"): void {
    this.granted++;
    for (const other of this.believers) {
      if (other.state !== "held" && other.state !== "uncertain") continue;
      if (other.mode === "shared" && handle.mode === "shared") this.together++;
      else this.overlaps++;
    }
    this.believers.add(handle);
    this.pairs.push((handle.token ?? 0n) * 65_536n + BigInt(handle.turn));
    if (handle.turn > 0) this.lent++;
    if (how === undefined) this.tokens.push(handle.token ?? 0n);
    else this.downgraded++;
  }

  leave(handle: LockHandle): void {
    this.believers.delete(handle);
  }
}

/** Acquires by the plan. Resolves to `null` when the plan or a fault ends the acquire. */
export async function acquireBy<H extends LockHandle>(
  runtime: SimulatedRuntime,
  acquire: (options: { waitMs?: number; signal?: AbortSignal }) => Promise<H>,
  plan: Contender,
): Promise<H | null> {
  await after(runtime, plan.startMs);
  const controller = new AbortController();
  if (plan.abortMs !== null) runtime.setTimer(plan.abortMs, () => controller.abort("aborted by the plan"));
  try {
    return await acquire({
      ...(plan.waitMs === null ? {} : { waitMs: plan.waitMs }),
      ...(plan.abortMs === null ? {} : { signal: controller.signal }),
    });
  } catch (error) {
    if (error === "aborted by the plan") return null;
    if (["HF_ACQUIRE_TIMEOUT", "HF_BACKEND"].includes((error as { code?: string }).code ?? "")) return null;
    throw error;
  }
}

export async function runToEnd<T>(runtime: SimulatedRuntime, work: Promise<T>): Promise<T> {
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

/** Three providers of one server. Each fault breaks the link of its provider at its time. */
export function threeWith(
  runtime: SimulatedRuntime,
  server: SimulatedServer,
  lease: "session" | "ttl",
  faults: readonly Fault[],
  options: ProviderOptions = {},
): Simulated[] {
  const all = [0, 1, 2].map(() =>
    simulatedLocks(server, lease, { connectTimeoutMs: 20_000, ...options }, 2_000),
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
  return all;
}

/** A contender that takes the lock several times. */
export type Visitor = Contender & { readonly rounds: number };

/** Each visitor takes the mutex "a" of its provider, holds it, releases it, and reports to the witness what it has seen. */
async function visit(
  runtime: SimulatedRuntime,
  providers: readonly LockProvider[],
  visitors: readonly Visitor[],
  witness: Witness,
): Promise<void> {
  const work = visitors.map(async (plan) => {
    const provider = providers[plan.provider] as LockProvider;
    for (let round = 0; round < plan.rounds; round++) {
      const startMs = round === 0 ? plan.startMs : 1;
      const acquire = (options: { waitMs?: number; signal?: AbortSignal }) =>
        provider.mutex("a").acquire(options);
      const handle = await acquireBy(runtime, acquire, { ...plan, startMs });
      if (handle === null) continue;
      witness.enter(handle);
      await after(runtime, plan.holdMs);
      witness.leave(handle);
      await handle.release();
    }
  });
  await Promise.all(work);
}

/** Three providers over one space in memory. `restMs`: the quiet time after the last visitor. */
export async function raceInMemory(
  visitors: readonly Visitor[],
  seed: number,
  { restMs = 0, ...options }: ProviderOptions & { readonly restMs?: number } = {},
): Promise<{ space: MemorySpace; witness: Witness; providers: readonly LockProvider[] }> {
  const runtime = simulatedRuntime(seed);
  const space = new MemorySpace();
  const providers = [0, 1, 2].map(() => memoryLocks({ space, runtime, ...options }));
  const witness = new Witness();
  await runToEnd(
    runtime,
    visit(runtime, providers, visitors, witness).then(() => after(runtime, restMs)),
  );
  return { space, witness, providers };
}

/** Three providers of one simulated server with faults, followed by 30 s of quiet after the last visitor. */
export async function raceOnServer(
  lease: "session" | "ttl",
  visitors: readonly Visitor[],
  faults: readonly Fault[],
  seed: number,
  options?: ProviderOptions,
): Promise<{ server: SimulatedServer; witness: Witness; providers: readonly LockProvider[] }> {
  const runtime = simulatedRuntime(seed);
  const server = new SimulatedServer(runtime, lease);
  const providers = threeWith(runtime, server, lease, faults, options).map(({ provider }) => provider);
  const witness = new Witness();
  await runToEnd(
    runtime,
    visit(runtime, providers, visitors, witness).then(() => after(runtime, 30_000)),
  );
  return { server, witness, providers };
}
