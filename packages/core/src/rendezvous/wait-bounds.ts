import type { AcquireOptions } from "../api/acquiring.js";
import { AcquireTimeoutError, BackendError } from "../api/errors.js";
import type { Millis } from "../api/values.js";
import { unheardMs } from "../grants/acquire-errors.js";
import type { GrantEngine } from "../grants/engine.js";
import { checkMillis, checkOptions, checkSignal } from "../options/checks.js";
import type { LocalBounds } from "../signals/wait-locally.js";

export type WaitOptions = Pick<AcquireOptions, "waitMs" | "signal">;

/** One deadline for everything that one call waits for. */
export interface WaitBounds extends LocalBounds {
  /** What the caller waits for, for messages: `the barrier "x"`. */
  readonly what: string;
  readonly name: string;
  readonly startedMs: Millis;
  readonly waitMs: Millis;
  /** `waitMs: 0`: reads once, which may take up to `connectTimeoutMs`, and waits for no change. */
  readonly once: boolean;
}

const known: ReadonlySet<string> = new Set(["waitMs", "signal"]);

/** Checks the options of a wait. Throws `InvalidArgumentError`, the signal's reason, or `ProviderClosedError`, before any I/O. */
export function waitBounds(
  engine: GrantEngine,
  method: string,
  what: string,
  name: string,
  options: WaitOptions | undefined,
): WaitBounds {
  checkOptions(method, options, known);
  const { waitMs = engine.options.defaultWaitMs, signal } = options ?? {};
  checkMillis(`${method}: waitMs`, waitMs, { minimumMs: 0, infinite: true });
  checkSignal(`${method}: signal`, signal);
  if (engine.closed) throw engine.closedError(name);
  signal?.throwIfAborted();
  const startedMs = engine.runtime.nowMs();
  const once = waitMs === 0;
  return {
    what,
    name,
    startedMs,
    waitMs,
    once,
    deadlineMs: startedMs + (once ? engine.options.connectTimeoutMs + unheardMs : waitMs),
    signal,
  };
}

/** The error of a wait at its deadline. A wait that never had an answer from the backend met an outage, and not contention. */
export function timeoutOf(engine: GrantEngine, bounds: WaitBounds, answered: boolean): Error {
  const { what, name, waitMs, startedMs, once } = bounds;
  const details = { lockName: name, backend: engine.backend };
  const waitedMs = engine.runtime.nowMs() - startedMs;
  if (!answered) {
    const missing = engine.link.state === "connected" ? "no answer from" : "no connection to";
    const limit = once ? `connectTimeoutMs = ${engine.options.connectTimeoutMs}` : `waitMs = ${waitMs}`;
    const message = `${what}: ${missing} ${engine.backend} after ${Math.round(waitedMs)} ms (${limit})`;
    return new BackendError(message, details);
  }
  return new AcquireTimeoutError(`${what}: waitMs = ${waitMs} passed`, { ...details, waitedMs });
}
