import type { Capabilities, InspectOptions, LockSnapshot, Millis, PrimitiveKind } from "@holdfast/core";
import type { Attempt, AttemptListener, GrantRequest, LockDriver } from "@holdfast/core/driver";
import { askToLetGo, inspectRedLock } from "./inspect.js";
import type { Quorum } from "./quorum.js";
import { RedLockAttempt } from "./red-lock-attempt.js";

const kinds: ReadonlySet<PrimitiveKind> = new Set<PrimitiveKind>(["mutex", "reentrant-mutex"]);
const closeWaitMs: Millis = 1_000;

/** The majority of several masters as core's driver. */
export class RedLockDriver implements LockDriver {
  readonly capabilities: Capabilities;
  readonly #quorum: Quorum;

  constructor(quorum: Quorum) {
    const { fencing } = quorum.settings;
    this.#quorum = quorum;
    this.capabilities = {
      backend: "redlock",
      lease: "ttl",
      fencing: fencing === "none" ? "none" : fencing === "write-back" ? "best-effort" : "durable",
      fairness: "none",
      push: true,
      primitives: kinds,
    };
  }

  /** One lock at a time: there is no `jointGroup`. */
  attempt([request]: readonly [GrantRequest, ...GrantRequest[]], listener: AttemptListener): Attempt {
    return new RedLockAttempt(this.#quorum, request, listener);
  }

  inspect(kind: PrimitiveKind, name: string, options: InspectOptions): Promise<LockSnapshot> {
    return inspectRedLock(this.#quorum, kind, name, options);
  }

  /** Asks the holder that a majority of nodes names, on each of them. `false` for a holder that is not ours. */
  requestRevoke(_kind: PrimitiveKind, name: string): Promise<boolean> {
    return askToLetGo(this.#quorum, name);
  }

  close(): Promise<void> {
    return this.#quorum.close(closeWaitMs);
  }
}
