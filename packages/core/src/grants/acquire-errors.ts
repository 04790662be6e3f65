import type { Capabilities } from "../api/capabilities.js";
import { AcquireTimeoutError, BackendError, EvictedError, type HoldfastErrorDetails } from "../api/errors.js";
import type { Millis } from "../api/values.js";
import type { AcquireSpecs } from "./acquire-spec.js";

/**
 * A call that reaches its limit waits this much longer before it fails. In that time the event loop delivers what has already
 * arrived: an answer that lies unread in the socket, or the link's own error, which names the servers that it tried.
 */
export const unheardMs: Millis = 50;

/** What the errors of an acquire mention. */
export interface Asked {
  readonly specs: AcquireSpecs;
  readonly backend: Capabilities["backend"];
}

/** `cause`: what was in the way other than the hold of another client, or the last failure of the acquire. */
export function timedOut(asked: Asked, waitedMs: Millis, cause: unknown): AcquireTimeoutError {
  const { specs } = asked;
  const what = specs.length === 1 ? `the lock ${namesOf(specs)} was` : `the locks ${namesOf(specs)} were`;
  return new AcquireTimeoutError(`${what} not granted within waitMs = ${specs[0].options.waitMs}`, {
    waitedMs,
    ...detailsOf(asked, cause),
  });
}

/** How a call reached its limit without an answer. */
export interface Unanswered {
  /** Time since the call. */
  readonly passedMs: Millis;
  readonly connectTimeoutMs: Millis;
  /** The call only waited until what an earlier request of this provider had left was cleared. It asked for nothing itself. */
  readonly guarded: boolean;
  /** The last failure of the acquire, if there was one. */
  readonly cause: unknown;
}

/** No server has said whether the lock is free, so this is an outage and not contention. */
export function noAnswer(asked: Asked, unanswered: Unanswered): BackendError {
  const { specs, backend } = asked;
  const { guarded, cause } = unanswered;
  const what = guarded
    ? `${backend} has not confirmed the end of an earlier request of this provider`
    : `no answer from ${backend}`;
  const last = cause instanceof Error ? `; the last failure: ${cause.message}` : "";
  const message = `acquire of ${namesOf(specs)}: ${what} ${limitOf(specs, unanswered)}${last}`;
  return new BackendError(message, detailsOf(asked, cause));
}

/** `error`: the link's error about its own attempts to connect. */
export function unreachable(asked: Asked, unanswered: Unanswered, error: BackendError): BackendError {
  const { specs } = asked;
  const message = `acquire of ${namesOf(specs)}: no connection ${limitOf(specs, unanswered)}: ${error.message}`;
  return new BackendError(message, { servers: error.servers, ...detailsOf(asked, error.cause ?? error) });
}

/** The time that has passed, and the option that limits it. */
function limitOf([{ options }]: AcquireSpecs, { passedMs, connectTimeoutMs }: Unanswered): string {
  const byCall = options.waitMs > 0 && options.waitMs < connectTimeoutMs;
  const limit = byCall ? `waitMs = ${options.waitMs}` : `connectTimeoutMs = ${connectTimeoutMs}`;
  return `after ${Math.round(passedMs)} ms (${limit})`;
}

/** The grant was over before the caller could get it, so the claim has to ask again. */
export function goneBeforeDelivery(asked: Asked, why: string): BackendError {
  return new BackendError(`acquire of ${namesOf(asked.specs)}: ${why}`, detailsOf(asked));
}

export function evictedAtGrant({ backend }: Asked, name: string): EvictedError {
  return new EvictedError(
    `the queue entry for "${name}" was deleted as its turn came, by an operator or another client`,
    { lockName: name, backend },
  );
}

function detailsOf({ specs, backend }: Asked, cause?: unknown): HoldfastErrorDetails {
  return { lockName: specs[0].name, backend, cause };
}

function namesOf(specs: AcquireSpecs): string {
  return specs.map(({ name }) => `"${name}"`).join(", ");
}
