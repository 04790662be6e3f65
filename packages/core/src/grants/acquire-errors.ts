import type { Capabilities } from "../api/capabilities.js";
import { AcquireTimeoutError, BackendError, EvictedError, UnsupportedError } from "../api/errors.js";
import type { Millis } from "../api/values.js";
import type { AcquireSpecs } from "./acquire-spec.js";

/** What the errors of an acquire name. */
export interface Asked {
  readonly specs: AcquireSpecs;
  readonly backend: Capabilities["backend"];
}

/** `cause`: the last failure on the way, where there was one beside somebody else's hold. */
export function timedOut({ specs, backend }: Asked, waitedMs: Millis, cause: unknown): AcquireTimeoutError {
  const [{ name, options }] = specs;
  const what = specs.length === 1 ? `the lock ${namesOf(specs)} was` : `the locks ${namesOf(specs)} were`;
  return new AcquireTimeoutError(`${what} not granted within waitMs = ${options.waitMs}`, {
    waitedMs,
    lockName: name,
    backend,
    ...(cause !== undefined && { cause }),
  });
}

export function noConnection({ specs, backend }: Asked): BackendError {
  const [{ name, options }] = specs;
  return new BackendError(
    `acquire of ${namesOf(specs)}: no connection to ${backend} within ${options.waitMs} ms`,
    { lockName: name, backend },
  );
}

/** Granted, and over again before the caller could have it: to be asked for anew. */
export function goneBeforeDelivery({ specs, backend }: Asked, why: string): BackendError {
  return new BackendError(`acquire of ${namesOf(specs)}: ${why}`, { lockName: specs[0].name, backend });
}

export function evictedAtGrant({ backend }: Asked, name: string): EvictedError {
  return new EvictedError(`the queue entry for "${name}" was deleted by somebody as its turn came`, {
    lockName: name,
    backend,
  });
}

export function notTogether({ backend }: Asked): UnsupportedError {
  return new UnsupportedError(`the backend ${backend} cannot grant several locks together`, { backend });
}

function namesOf(specs: AcquireSpecs): string {
  return specs.map(({ name }) => `"${name}"`).join(", ");
}
