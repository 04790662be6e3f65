import type { Millis } from "../api/values.js";
import type { GrantEngine } from "../grants/engine.js";
import type { Watched } from "../signals/observe-latest.js";
import { settledWithin } from "../signals/settled-within.js";
import { waitLocally } from "../signals/wait-locally.js";
import { timeoutOf, type WaitBounds } from "./wait-bounds.js";

const nothing = (): void => {};

/**
 * Reads the value, and reads it again after each sign of a change, until `isAwaited` accepts it. A sign alone proves nothing,
 * so it never ends the wait. Rejects with `AcquireTimeoutError` at the deadline, `signal.reason`, `ProviderClosedError`, or
 * what a read rejects with.
 */
export async function awaitValue<T>(
  engine: GrantEngine,
  bounds: WaitBounds,
  watched: Watched<T>,
  isAwaited: (value: T) => boolean,
): Promise<T> {
  let changed = true;
  let answered = false;
  let wake = nothing;
  const stop = watched.subscribe(() => {
    changed = true;
    wake();
  });
  try {
    for (;;) {
      if (!changed) {
        const woken = await waitLocally(engine, bounds, (wakeUp) => {
          wake = wakeUp;
          return () => {
            wake = nothing;
          };
        });
        if (!woken) throw timeoutOf(engine, bounds, answered);
      }
      changed = false;
      const reading = watched.read();
      if (!(await inTime(engine, bounds, reading)))
        throw timeoutOf(engine, bounds, answered || watched.answered === true);
      const value = await reading;
      answered = true;
      if (isAwaited(value)) return value;
      if (bounds.once) throw timeoutOf(engine, bounds, answered);
    }
  } finally {
    stop();
  }
}

/** The result of `work`, unless the deadline, the signal or the provider's end comes first. */
export async function inBounds<T>(
  engine: GrantEngine,
  bounds: WaitBounds,
  work: Promise<T>,
  answered: boolean,
): Promise<T> {
  if (!(await inTime(engine, bounds, work))) throw timeoutOf(engine, bounds, answered);
  return await work;
}

/** Whether `work` has ended by the deadline. Rejects where the signal or the provider's end comes first. */
async function inTime(engine: GrantEngine, bounds: WaitBounds, work: Promise<unknown>): Promise<boolean> {
  let finished = false;
  let wake = nothing;
  const done = (): void => {
    finished = true;
    wake();
  };
  work.then(done, done);
  return (
    finished ||
    (await waitLocally(engine, bounds, (wakeUp) => {
      wake = wakeUp;
      return nothing;
    }))
  );
}

/** How long a call that is over waits for the answer to its last request. */
const answeredWithinMs: Millis = 100;

/**
 * Waits until what a call that was given up has left under `key` is taken back; `gone` settles then. The call waits no longer
 * than a server that answers takes. `afterPending` of later calls and `close()`, which reports it by `name`, wait for the rest.
 */
export async function takenBack(
  engine: GrantEngine,
  { key, name }: { readonly key: string; readonly name: string },
  gone: Promise<unknown>,
): Promise<void> {
  engine.trackCleaning(gone);
  engine.rememberPendingRelease(key, gone, name);
  if (engine.link.state === "connected")
    await settledWithin(engine.runtime, gone, answeredWithinMs, { ref: true });
}

/**
 * Waits until what earlier calls of this provider have left under `key` is taken back, so that it does not count together
 * with what this call makes. Rejects as `awaitValue` does.
 */
export async function afterPending(engine: GrantEngine, bounds: WaitBounds, key: string): Promise<void> {
  const pending = engine.pendingRelease(key);
  if (pending !== undefined) await inBounds(engine, bounds, pending, false);
}
