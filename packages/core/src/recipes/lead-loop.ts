import { setImmediate as nextTurn } from "node:timers/promises";
import type { ScopeContext } from "../api/acquiring.js";
import { BackendError, LockLostError, ProviderClosedError, QuorumError } from "../api/errors.js";
import type { Millis } from "../api/values.js";
import type { GrantEngine } from "../grants/engine.js";
import { Handle } from "../grants/handle.js";
import { runScope } from "../scopes/run-scope.js";
import { waitLocally } from "../signals/wait-locally.js";
import type { Leadership } from "./leadership.js";

export type TermBody = (term: Leadership, context: ScopeContext) => PromiseLike<void> | void;

/**
 * Campaigns, leads, gives the term back, and campaigns again from the tail, until `signal` aborts or the provider
 * closes. Those are the normal ends. Nothing is held when it settles. An error of the body that only repeats that the term is
 * over does not count, because a body that passes its signal on will reject with exactly that.
 */
export async function leadLoop(
  engine: GrantEngine,
  signal: AbortSignal,
  campaign: (signal: AbortSignal) => Promise<Leadership>,
  body: TermBody,
): Promise<void> {
  const ends = [signal, engine.stopping];
  const stop = new AbortController();
  const stopped = (): void => stop.abort(ends.find((end) => end.aborted)?.reason);
  if (ends.some((end) => end.aborted)) return;
  for (const end of ends) engine.signals.add(end, stopped);
  try {
    await leadUntil(engine, stop.signal, () => campaign(stop.signal), body);
  } finally {
    for (const end of ends) engine.signals.remove(end, stopped);
  }
}

async function leadUntil(
  engine: GrantEngine,
  signal: AbortSignal,
  campaign: () => Promise<Leadership>,
  body: TermBody,
): Promise<void> {
  while (!signal.aborted) {
    const term = await elected(engine, signal, campaign);
    if (term === null) return;
    // The abort came at the moment of the election: the body has not begun, so there is nothing to stop.
    if (signal.aborted) return await term[Symbol.asyncDispose]();
    try {
      await runScope(engine, term, { onLoss: "ignore", signal }, body, undefined);
    } catch (error) {
      if (!saysThatTermIsOver(error, term, signal) && !saysThatProviderCloses(error, engine)) throw error;
    }
    if (signal.aborted) return;
    // Otherwise a body that returns at once, with a backend that answers at once, would let no other code of the process run.
    await nextTurn();
  }
}

/**
 * Resolves when elected; `null` when `signal` aborted first. After trouble in transport it tries again by the provider's policy.
 */
async function elected(
  engine: GrantEngine,
  signal: AbortSignal,
  campaign: () => Promise<Leadership>,
): Promise<Leadership | null> {
  const startedMs = engine.runtime.nowMs();
  for (let attempt = 1; ; attempt++) {
    try {
      return await campaign();
    } catch (error) {
      if (signal.aborted) return null;
      const delayMs = retryDelayMs(engine, error, attempt, startedMs);
      if (delayMs === null) throw error;
      await rest(engine, signal, delayMs);
      if (signal.aborted) return null;
    }
  }
}

function retryDelayMs(
  engine: GrantEngine,
  error: unknown,
  attempt: number,
  startedMs: Millis,
): Millis | null {
  if (!(error instanceof BackendError || error instanceof QuorumError) || !error.retryable) return null;
  return engine.options.retry.next(attempt, engine.runtime.nowMs() - startedMs, error);
}

async function rest(engine: GrantEngine, signal: AbortSignal, delayMs: Millis): Promise<void> {
  const deadlineMs = engine.runtime.nowMs() + delayMs;
  try {
    await waitLocally(engine, { deadlineMs, signal }, () => () => {});
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** Whether the error says that this provider closes, for this lock or for any other that the body waits for or holds. */
function saysThatProviderCloses(error: unknown, engine: GrantEngine): boolean {
  if (!engine.closing) return false;
  if (error instanceof LockLostError) return error.reason === "provider-closed";
  return error instanceof ProviderClosedError;
}

function saysThatTermIsOver(error: unknown, term: Leadership, signal: AbortSignal): boolean {
  const reasons: unknown[] = [];
  if (term.state === "lost") reasons.push(Handle.holdOf(term).lossError());
  if (signal.aborted) reasons.push(signal.reason);
  if (reasons.includes(error)) return true;
  // Node's own functions reject with an `AbortError` of their own, which has the reason as its cause.
  return error instanceof Error && error.name === "AbortError" && reasons.includes(error.cause);
}
