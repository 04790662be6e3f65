import { type LockProvider, MemorySpace, memoryLocks } from "@holdfast/core";
import { type SimulatedRuntime, simulatedRuntime } from "@holdfast/core/testing";

export const everyMs = 60_000;

export interface Replicas {
  /** Time moves only when a test lets it. */
  readonly runtime: SimulatedRuntime;
  /** A new provider for a replica. All providers are on one backend. */
  readonly provider: () => LockProvider;
}

export function replicas(): Replicas {
  const [runtime, space] = [simulatedRuntime(7), new MemorySpace()];
  return { runtime, provider: () => memoryLocks({ space, runtime }) };
}

/** The due times of these runs, in minutes since the simulated clock began. */
export function minutes(runs: readonly { readonly due: Date }[]): number[] {
  return runs.map(({ due }) => (due.getTime() - Date.UTC(2026, 0, 1)) / everyMs);
}
