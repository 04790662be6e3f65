import { messageOf } from "@holdfast/core/internal";
import type { ActionResult } from "../observe/collector.js";
import type { ObservedLock } from "../observe/observed-lock.js";

/** What became of an act, without the rows around it. */
export type Outcome = Pick<ActionResult, "outcome" | "effects" | "unknownLibrary" | "endedHolds">;

/** How one backend acts upon one lock. */
export interface Act<Lock> {
  /** Reads the lock anew. `null`: nothing is there. */
  read(): Promise<Lock | null>;
  rowOf(lock: Lock): ObservedLock;
  /** Decides and acts. `tried`: the backend was asked to change something, so the lock is read once more. */
  attempt(lock: Lock, before: ObservedLock): Promise<Outcome & { readonly tried: boolean }>;
}

/** Reads, acts, and reads again what was acted upon. `gone`: said where nothing is there. */
export async function actUpon<Lock>(gone: readonly string[], act: Act<Lock>): Promise<ActionResult> {
  const lock = await act.read();
  if (lock === null) return { outcome: "nothing-there", effects: gone, before: null, after: null };
  // What is read may change in place with the next reading, so the row is made first.
  const before = act.rowOf(lock);
  const { tried, outcome, effects, ...told } = await act.attempt(lock, before);
  if (!tried) return { outcome, effects, before, after: null, ...told };
  try {
    const later = await act.read();
    return { outcome, effects, before, after: later === null ? null : act.rowOf(later), ...told };
  } catch (error) {
    // What was done is known all the same.
    const unread = `The lock could not be read after that: ${messageOf(error)}.`;
    return { outcome, effects: [...effects, unread], before, after: null, ...told };
  }
}

/** The lock is none of this collector's: it is neither read nor acted upon. */
export function denied(why: string): ActionResult {
  return { outcome: "denied", effects: [why], before: null, after: null };
}
