import type { Millis } from "@holdfast/core";
import type { LeaseState } from "../observe/observed-lock.js";
import type { Reading } from "./reading.js";

/** An end of a lease that moved by less than this has not moved. */
const toleranceMs: Millis = 400;
/** Renewals may be late by this. */
const slackMs: Millis = 1_500;

/**
 * Whether the lease of one hold is raised, from what was left of it each time it was read. Who renews, here as in Redisson, does so
 * each third of the lease, so it swings between two thirds and the whole; and one that was not raised within half of what was left
 * when it was first seen is fixed.
 */
export class LeaseHistory {
  /** When it ends, as last read, by the clock that never steps, as `#firstMs`. -1: never. */
  #endMs: Millis;
  readonly #firstMs: Millis;
  readonly #firstLeftMs: Millis;
  /** Wall time at which a raise was last noticed; 0 for never. */
  #raisedMs: Millis = 0;
  /** The most that was left since the last raise was noticed. */
  #leaseMs: Millis = 0;
  #state: LeaseState = "unknown";

  /** `readMs`: by the clock that never steps. */
  constructor(leftMs: Millis, readMs: Millis) {
    this.#firstMs = readMs;
    this.#firstLeftMs = leftMs;
    this.#endMs = leftMs < 0 ? -1 : readMs + leftMs;
    if (leftMs === -1) this.#state = "never-expires";
  }

  get state(): LeaseState {
    return this.#state;
  }

  /** `null` before any was. */
  get raisedMs(): Millis | null {
    return this.#raisedMs === 0 ? null : this.#raisedMs;
  }

  /** The lease as far as it shows: `null` before a raise was seen. */
  get leaseMs(): Millis | null {
    return this.#raisedMs === 0 ? null : this.#leaseMs;
  }

  /** True when a raise was seen. */
  read(leftMs: Millis, { atMs, readMs, blurMs }: Pick<Reading, "atMs" | "readMs" | "blurMs">): boolean {
    if (leftMs === -1) {
      this.#endMs = -1;
      this.#state = "never-expires";
      return false;
    }
    const endMs = readMs + leftMs;
    const raised = this.#endMs !== -1 && endMs > this.#endMs + toleranceMs + blurMs;
    if (raised) {
      this.#raisedMs = atMs;
      this.#leaseMs = leftMs;
    }
    this.#endMs = endMs;
    this.#state = this.#judge(leftMs, readMs);
    return raised;
  }

  #judge(leftMs: Millis, readMs: Millis): LeaseState {
    if (this.#raisedMs !== 0) {
      return leftMs < (this.#leaseMs * 2) / 3 - slackMs ? "not-renewing" : "renewing";
    }
    // A hold without an end that was given one: it cannot be said yet.
    if (this.#firstLeftMs < 0) return "unknown";
    return readMs - this.#firstMs > this.#firstLeftMs / 2 + slackMs ? "fixed" : "unknown";
  }
}
