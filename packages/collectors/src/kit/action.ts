import { messageOf } from "@holdfast/core/internal";
import type { ActionOffer, ActionRequest, ActionResult, ActionTrial } from "../observe/collector.js";
import type { ObservedLock } from "../observe/observed-lock.js";

/** The result of an action, without the rows before and after it. */
export type Outcome = Pick<ActionResult, "outcome" | "effects" | "unknownLibrary" | "endedHolds">;

/** `tried`: the backend was asked to change something, so the lock is read once more. */
type Tried = Outcome & { readonly tried: boolean };

/** How one backend acts upon one lock. */
export interface Act<Lock> {
  /** The effects to report when there is no such lock. */
  readonly gone: readonly string[];
  /** Reads the lock anew. `null`: there is no such lock. */
  read(): Promise<Lock | null>;
  rowOf(lock: Lock): ObservedLock;
  /** Decides what to do, and does it. */
  attempt(request: ActionRequest, lock: Lock, before: ObservedLock): Promise<Tried>;
}

/** Reads the lock, acts, and reads the lock again if the action was tried. */
export async function actUpon<Lock>(act: Act<Lock>, request: ActionRequest): Promise<ActionResult> {
  let lock: Lock | null;
  try {
    lock = await act.read();
  } catch (error) {
    return { outcome: "unread", effects: [messageOf(error)], before: null, after: null };
  }
  if (lock === null) return { outcome: "nothing-there", effects: act.gone, before: null, after: null };
  // The next reading may change `lock` in place, so its row is made first.
  const before = act.rowOf(lock);
  const { tried, outcome, effects, ...told } = await act.attempt(request, lock, before);
  if (!tried) return { outcome, effects, before, after: null, ...told };
  try {
    const later = await act.read();
    return { outcome, effects, before, after: later === null ? null : act.rowOf(later), ...told };
  } catch (error) {
    // Only the second reading failed: what the action did is known.
    const unread = `The lock could not be read after that: ${messageOf(error)}.`;
    return { outcome, effects: [...effects, unread], before, after: null, ...told };
  }
}

/** Reports what each of the actions would do, by one reading for all of them. Tries none once `signal` is aborted. */
export async function tryOutUpon<Lock>(
  act: Act<Lock>,
  { key, version }: Pick<ObservedLock, "key" | "version">,
  acts: readonly ActionOffer[],
  signal: AbortSignal | undefined,
): Promise<readonly ActionTrial[]> {
  const lock = await act.read();
  signal?.throwIfAborted();
  const asRead = { ...act, read: async () => lock };
  const tries = acts.map(({ action, entry }) =>
    actUpon(asRead, { action, entry, key, expectedVersion: version, dryRun: true }),
  );
  return Promise.all(tries.map((each) => each.catch((error) => denied(messageOf(error)))));
}

/** The result for a lock that this collector does not cover, or for a trial that the backend refused. */
export function denied(why: string): ActionResult {
  return { outcome: "denied", effects: [why], before: null, after: null };
}
