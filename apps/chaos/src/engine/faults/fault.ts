import { setTimeout as sleep } from "node:timers/promises";
import type { Crew } from "../crew.js";
import type { Random } from "../random.js";
import type { PlannedFault } from "../scenario.js";
import type { Tally } from "../tally.js";
import type { ServerSet } from "../topologies/server-set.js";

/** How long a client may take to have new connections or subscriptions after they were ended, in ms. */
const backWithinMs = 2_000;

/**
 * Waits until a client is connected or subscribed again, soon after its connections were ended. Throws an error with
 * the text `missing` if that takes too long, and when the run ends.
 */
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
  /** The state of the run according to the records so far: who holds, who waits. */
  readonly tally: Tally;
  readonly random: Random;
  /** Aborts when the run is over. Everything that waits for something then gives up. */
  readonly signal: AbortSignal;
  /**
   * Must be called immediately before something is done to `target`: it records the beginning. If the fault then fails,
   * `undo` is called to take back what was done. A fault that stayed on after its recorded end would be held against
   * the clients.
   */
  begins(target: string, undo?: () => Promise<unknown>): void;
  /** Must be called when the blow at `target` missed its aim and was taken back. Another try may follow. */
  missed(target: string, evidence: unknown): void;
}

/** A fault that is on. */
export interface OngoingFault {
  readonly target: string;
  /**
   * The evidence that it really happened: the names of servers in `servers`, their roles before the fault in `roles`.
   */
  readonly evidence: unknown;
  /**
   * Takes the fault back and resolves when that has worked; may resolve with more evidence. Unset: the fault is over at
   * once, and there is nothing to take back.
   */
  heal?(): Promise<unknown>;
}

export interface FaultKind {
  begin(context: FaultContext): Promise<OngoingFault>;
}
