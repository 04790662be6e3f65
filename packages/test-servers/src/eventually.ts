import { setTimeout as sleep } from "node:timers/promises";
import { TestServerError } from "./errors.js";

/** What `eventually()` waits for, and for how long. */
export interface EventuallyOptions {
  /** What is waited for, in the words of the error: "the waiter to be granted". */
  what: string;
  /** Limit in milliseconds; default 30,000. */
  withinMs?: number;
  /** Pause between two calls of the condition in milliseconds; default 20. */
  everyMs?: number;
  /** Added to the error, for instance the end of a log. Called only on failure. */
  detail?: () => string;
  /** When it aborts, the wait rejects with its reason before the next call of the condition. */
  signal?: AbortSignal;
}

/**
 * Calls `condition` until it returns something other than `undefined`, `null` or `false`, and returns that.
 *
 * A condition that throws counts as "not yet"; its last error becomes the `cause`. The limit also holds for a condition
 * that never settles. The condition is called at least once, and once more after the limit has passed, so that a
 * machine that slept through the limit still gets the right answer.
 * @throws TestServerError that names `what`, the limit and the last thing seen; the reason of
 * `signal` when that aborts.
 */
export async function eventually<T>(
  condition: () => T | Promise<T>,
  options: EventuallyOptions,
): Promise<Exclude<T, undefined | null | false>> {
  const withinMs = options.withinMs ?? 30_000;
  const endMs = performance.now() + withinMs;
  let seen: unknown;
  let cause: unknown;
  for (let last = false; ; ) {
    options.signal?.throwIfAborted();
    const patience = new AbortController();
    try {
      const limitMs = Math.max(endMs - performance.now(), 250);
      const result = await Promise.race([
        (async () => condition())(),
        sleep(limitMs, stuck, { signal: patience.signal }),
      ]);
      if (result === stuck) {
        seen = "a look that never ended";
        last = true;
      } else {
        if (result !== undefined && result !== null && result !== false) {
          return result as Exclude<T, undefined | null | false>;
        }
        seen = result;
        cause = undefined;
      }
    } catch (error) {
      cause = error;
    } finally {
      patience.abort();
    }
    if (last) break;
    last = performance.now() >= endMs;
    if (!last) await sleep(options.everyMs ?? 20);
  }
  const found = cause === undefined ? `last seen: ${String(seen)}` : `last error: ${describe(cause)}`;
  const detail = options.detail === undefined ? "" : `\n${options.detail()}`;
  throw new TestServerError(`waited ${withinMs} ms for ${options.what}; ${found}${detail}`, { cause });
}

const stuck = Symbol("stuck");

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
