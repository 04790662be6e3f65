import type { Capabilities } from "./capabilities.js";
import type { FencingToken, LossReason, Millis } from "./values.js";

/**
 * The values of `HoldfastError.code`. They are stable, for code that cannot use `instanceof`, such as a log filter.
 * `QuorumError` has a code of its own, not that of `BackendError`.
 */
export type ErrorCode =
  | "HF_ACQUIRE_TIMEOUT"
  | "HF_LOCK_LOST"
  | "HF_NOT_HELD"
  | "HF_EVICTED"
  | "HF_DEADLOCK"
  | "HF_BACKEND"
  | "HF_QUORUM"
  | "HF_LAYOUT_CONFLICT"
  | "HF_UNSUPPORTED"
  | "HF_PROVIDER_CLOSED"
  | "HF_FENCED_OUT"
  | "HF_INVALID_ARGUMENT";

/** What each error of this library may be given besides its message. */
export interface HoldfastErrorDetails {
  /** The error that led to this one; becomes `Error.cause`. */
  readonly cause?: unknown;
  /** The lock that the failed call was about. */
  readonly lockName?: string | undefined;
  /** The kind of backend that the failed call was sent to. */
  readonly backend?: Capabilities["backend"] | undefined;
  /** Whether the same call, made again later, may succeed. Default: what the class of the error says. */
  readonly retryable?: boolean | undefined;
}

type ErrorClass = abstract new (...args: never[]) => Error;

const brandOf = (name: string): symbol => Symbol.for(`holdfast.error.${name}`);

/**
 * Brands a class through the global symbol registry, so that `instanceof` also knows the errors of
 * another installed copy of this package. Classes derived from a branded one need a brand of their own:
 * without it they keep the ordinary meaning of `instanceof`.
 */
export function branded(errorClass: ErrorClass, name: string): void {
  const brand = brandOf(name);
  Object.defineProperty(errorClass.prototype, brand, { value: true });
  Object.defineProperty(errorClass, Symbol.hasInstance, {
    value(this: ErrorClass, value: unknown): boolean {
      if (this !== errorClass) return Function.prototype[Symbol.hasInstance].call(this, value);
      return (
        typeof value === "object" && value !== null && (value as Record<symbol, unknown>)[brand] === true
      );
    },
  });
  // The name is on the prototype and not taken from `constructor.name`, because minifiers rename classes.
  Object.defineProperty(errorClass.prototype, "name", { value: name, writable: true, configurable: true });
}

/**
 * The class of all errors of this library. `code` is stable; `instanceof` holds across two installed copies of this package.
 *
 * @example
 * ```ts
 * import { AcquireTimeoutError, HoldfastError, LockLostError } from "@holdfast/core";
 *
 * try {
 *   await locks.mutex("orders/42").withLock({ waitMs: 2_000 }, ({ lost }) => makeReport(lost));
 * } catch (error) {
 *   if (error instanceof AcquireTimeoutError) console.log(`another client has held it for ${error.waitedMs} ms`);
 *   else if (error instanceof LockLostError) throw error; // the body has run, and the report may have been made
 *   else if (error instanceof HoldfastError) console.log(error.code, error.retryable ? "try again later" : "");
 *   else throw error;
 * }
 * ```
 */
export abstract class HoldfastError extends Error {
  /** Stable name of the class of this error. */
  abstract readonly code: ErrorCode;
  /**
   * Whether the lock may be had by the same call later. It does not say that the body of a `withLock` may run again: a
   * `LockLostError` comes after the body has run.
   */
  readonly retryable: boolean;
  /** The lock that the failed call was about. Not set when the call was about no lock. */
  declare readonly lockName?: string;
  /** The kind of backend that the failed call was sent to. Not set when no backend was asked. */
  declare readonly backend?: Capabilities["backend"];

  constructor(message: string, details: HoldfastErrorDetails = {}, retryable = false) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.retryable = details.retryable ?? retryable;
    if (details.lockName !== undefined) this.lockName = details.lockName;
    if (details.backend !== undefined) this.backend = details.backend;
  }

  /** The error for logs, without stack and cause. */
  toJSON(): { name: string; code: ErrorCode; message: string; lockName?: string } {
    const json = { name: this.name, code: this.code, message: this.message };
    return this.lockName === undefined ? json : { ...json, lockName: this.lockName };
  }
}

/**
 * `waitMs` passed without a grant, and a server has said that the request has to wait. Nothing of the request stays in the queue:
 * what is left of it is taken back in the background.
 */
export class AcquireTimeoutError extends HoldfastError {
  readonly code = "HF_ACQUIRE_TIMEOUT";
  /** Milliseconds from the call to this error. */
  readonly waitedMs: Millis;
  constructor(message: string, details: HoldfastErrorDetails & { readonly waitedMs: Millis }) {
    super(message, details, true);
    this.waitedMs = details.waitedMs;
  }
}

/** The hold is over without having been released, so another client may hold the lock now. */
export class LockLostError extends HoldfastError {
  readonly code = "HF_LOCK_LOST";
  /** How the hold ended. */
  readonly reason: LossReason;
  /** The fencing token of the hold that ended; `null` where it had none. */
  readonly token: FencingToken | null;
  /** The value of the body; set by `withLock` when the body fulfilled although the hold was lost. */
  declare readonly value?: unknown;
  constructor(
    message: string,
    details: HoldfastErrorDetails & {
      readonly reason: LossReason;
      readonly token: FencingToken | null;
      readonly value?: unknown;
    },
  ) {
    super(message, details, true);
    this.reason = details.reason;
    this.token = details.token;
    if ("value" in details) this.value = details.value;
  }
}

/** The handle was released before, or its hold is good for less time than the caller of `assertHeld()` asked for. */
export class NotHeldError extends HoldfastError {
  readonly code = "HF_NOT_HELD";
}

/** Another client deleted the queue entry of a *waiter* while the waiter's session lived. */
export class EvictedError extends HoldfastError {
  readonly code = "HF_EVICTED";
}

/** The wait would never end, because the caller itself holds what it would wait for. */
export class DeadlockError extends HoldfastError {
  readonly code = "HF_DEADLOCK";
}

/** The backend cannot be reached, or it refused. Names the servers that were tried and the last cause. */
export class BackendError extends HoldfastError {
  readonly code = "HF_BACKEND";
  /** `host:port` of the servers that were tried; empty where that is not known. */
  readonly servers: readonly string[];
  /** Retryable unless `details` say otherwise: an outage passes, a refusal does not. */
  constructor(
    message: string,
    details: HoldfastErrorDetails & { readonly servers?: readonly string[] } = {},
  ) {
    super(message, details, true);
    this.servers = details.servers ?? [];
  }
}

/** What one of several independent nodes answered. */
export interface NodeVote {
  /** The name of the node, as in the option `nodes`. */
  readonly node: string;
  /** `"late"`: no answer in time. */
  readonly vote: "for" | "against" | "error" | "late";
  /** Milliseconds from the question to the answer, or to the end of the wait for it. */
  readonly tookMs: Millis;
  /** Why the node did not vote `"for"`, where the node gave a reason. */
  readonly error?: unknown;
}

/** Too few of the independent nodes answered, or voted, in time. */
export class QuorumError extends HoldfastError {
  readonly code = "HF_QUORUM";
  /** How many nodes make a majority. */
  readonly needed: number;
  /** One vote for each node that was asked. */
  readonly votes: readonly NodeVote[];
  constructor(
    message: string,
    details: HoldfastErrorDetails & { readonly needed: number; readonly votes: readonly NodeVote[] },
  ) {
    super(message, details, true);
    this.needed = details.needed;
    this.votes = details.votes;
  }
}

/**
 * Something under this name would break exclusion: another kind of lock, a foreign child in front, a used-up sequence counter.
 */
export class LayoutConflictError extends HoldfastError {
  readonly code = "HF_LAYOUT_CONFLICT";
}

/** This backend does not have that primitive or option. */
export class UnsupportedError extends HoldfastError {
  readonly code = "HF_UNSUPPORTED";
}

/** The provider was closed before or while the call ran. */
export class ProviderClosedError extends HoldfastError {
  readonly code = "HF_PROVIDER_CLOSED";
}

/**
 * A guarded resource has refused a write: it has seen a later holder of the lock, or the write has no token of that lock.
 * Thrown by `@holdfast/fence`; `lockName` is the resource.
 */
export class FencedOutError extends HoldfastError {
  readonly code = "HF_FENCED_OUT";
}

/** An argument or option is wrong. Thrown at once, before any I/O; the message names what to change. */
export class InvalidArgumentError extends HoldfastError {
  readonly code = "HF_INVALID_ARGUMENT";
}

branded(HoldfastError, "HoldfastError");
branded(AcquireTimeoutError, "AcquireTimeoutError");
branded(LockLostError, "LockLostError");
branded(NotHeldError, "NotHeldError");
branded(EvictedError, "EvictedError");
branded(DeadlockError, "DeadlockError");
branded(BackendError, "BackendError");
branded(QuorumError, "QuorumError");
branded(LayoutConflictError, "LayoutConflictError");
branded(UnsupportedError, "UnsupportedError");
branded(ProviderClosedError, "ProviderClosedError");
branded(FencedOutError, "FencedOutError");
branded(InvalidArgumentError, "InvalidArgumentError");
