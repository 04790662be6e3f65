import { setTimeout as sleep } from "node:timers/promises";
import type { Crew } from "../crew.js";
import type { Random } from "../random.js";
import type { PlannedFault } from "../scenario.js";
import type { Tally } from "../tally.js";
import type { ServerSet } from "../topologies/server-set.js";

/** Within what a client whose connections or subscriptions were ended has new ones, ms. */
const backWithinMs = 2_000;

/** Waits for what a client has again soon after its connections were ended. Throws `missing` where it has not, and when the run ends. */
export async function soonBack(
  { signal }: FaultContext,
  isBack: () => boolean | Promise<boolean>,
  missing: string,
): Promise<void> {
  const endMs = performance.now() + backWithinMs;
  while (!(await isBack())) {
    if (signal.aborted || performance.now() >= endMs) throw new Error(missing);
    await sleep(10);
  }
}

export interface FaultContext {
  readonly planned: PlannedFault;
  readonly set: ServerSet;
  readonly crew: Crew;
  /** What the records say so far: who holds, who waits. */
  readonly tally: Tally;
  readonly random: Random;
  /** Aborts when the run is over: whatever waits for something then gives up. */
  readonly signal: AbortSignal;
  /**
   * Must be called at once before something is done to `target`: writes the record of the beginning. Where the fault then fails, `undo` is
   * called, which takes back what there is of it: left on after its end was recorded, it would be held against the clients.
   */
  begins(target: string, undo?: () => Promise<unknown>): void;
  /** What was begun at `target` missed its aim and was taken back; another try may follow. */
  missed(target: string, evidence: unknown): void;
}

/** A fault that is on. */
export interface OngoingFault {
  readonly target: string;
  /** What shows that it really happened. Servers by name in `servers`, their roles before it in `roles`. */
  readonly evidence: unknown;
  /** Takes it back and resolves when that has worked; unset: there is nothing to take back, it is over at once. May give more evidence. */
  heal?(): Promise<unknown>;
}

export interface FaultKind {
  begin(context: FaultContext): Promise<OngoingFault>;
}
