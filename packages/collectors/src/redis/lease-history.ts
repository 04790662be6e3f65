import type { Millis } from "@holdfast/core";
import type { LeaseState } from "../observe/observed-lock.js";
import type { Reading } from "./reading.js";

/** An end of a lease that moved by less than this counts as not moved. */
const toleranceMs: Millis = 400;
/** Renewals may be late by this. */
const slackMs: Millis = 1_500;

/**
 * Judges whether the lease of one hold is renewed, from what was left of it at each reading. Clients of ours and of Redisson
 * renew after each third of the lease, so what is left swings between two thirds and the whole. A lease that was not renewed
 * within half of what was left when it was first seen counts as fixed.
 */
export class LeaseHistory {
  /** When the lease ends, as last read, by the monotonic clock, as `#firstMs` is. -1: never. */
  #endMs: Millis;
  readonly #firstMs: Millis;
  readonly #firstLeftMs: Millis;
  /** Wall time at which a renewal was last noticed; 0 for never. */
  #raisedMs: Millis = 0;
  /** The most that was left since the last renewal was noticed. */
  #leaseMs: Millis = 0;
  #state: LeaseState = "unknown";

  /** `readMs`: by the monotonic clock. */
  constructor(leftMs: Millis, readMs: Millis) {
    this.#firstMs = readMs;
    this.#firstLeftMs = leftMs;
    this.#endMs = leftMs < 0 ? -1 : readMs + leftMs;
    if (leftMs === -1) this.#state = "never-expires";
  }

  get state(): LeaseState {
    return this.#state;
  }

  /** Wall time at which a renewal was last noticed; `null` before the first one. */
  get raisedMs(): Millis | null {
    return this.#raisedMs === 0 ? null : this.#raisedMs;
  }

  /** The length of the lease, as far as it shows; `null` before a renewal was seen. */
  get leaseMs(): Millis | null {
    return this.#raisedMs === 0 ? null : this.#leaseMs;
  }

  /** Takes over what was left at a reading. Returns true when it shows a renewal. */
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
    // The hold had no end at first and was given one later, so nothing can be said yet.
    if (this.#firstLeftMs < 0) return "unknown";
    return readMs - this.#firstMs > this.#firstLeftMs / 2 + slackMs ? "fixed" : "unknown";
  }
}
