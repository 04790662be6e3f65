import type { Millis, PrimitiveKind } from "@holdfast/core";
import type { LockDriver } from "@holdfast/core/driver";
import { askToLetGo, inspectRedLock } from "./inspect.js";
import type { Quorum } from "./quorum.js";
import { RedLockAttempt } from "./red-lock-attempt.js";

const kinds: ReadonlySet<PrimitiveKind> = new Set<PrimitiveKind>(["mutex", "reentrant-mutex"]);
const closeWaitMs: Millis = 1_000;

/** The majority of several masters as core's driver. */
export function redLockDriver(quorum: Quorum): LockDriver {
  const { fencing } = quorum.settings;
  return {
    capabilities: {
      backend: "redlock",
      lease: "ttl",
      fencing: fencing === "none" ? "none" : fencing === "write-back" ? "best-effort" : "durable",
      fairness: "none",
      push: true,
      primitives: kinds,
    },
    // One lock at a time: there is no `jointGroup`.
    attempt: ([request], listener) => new RedLockAttempt(quorum, request, listener),
    inspect: (kind, name, options) => inspectRedLock(quorum, kind, name, options),
    // Asks, on each node, the holder that a majority of the nodes names. `false` when that holder is no client of holdfast.
    requestRevoke: (_kind, name) => askToLetGo(quorum, name),
    close: () => quorum.close(closeWaitMs),
  };
}
