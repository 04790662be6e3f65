import type { Millis } from "@holdfast/core";

/** A hold that is renewed by the clock, as the other holds in its slot see it. */
export interface Renewable {
  /** `null`: there are no slots, and all renewals go together anyway. */
  readonly slot: number | null;
  /** When the last confirmed renewal was sent. */
  readonly confirmedSentMs: Millis;
  readonly ended: boolean;
  nowMs(): Millis;
  validUntilMs(): Millis;
  /** Resolves with `null` when the server no longer has the hold. */
  renewWithin(leaseMs: Millis, withinMs: Millis): Promise<Millis | null>;
  /** Reports the loss to the holder. Used for a renewal that core did not ask for, since core does not see its answer. */
  gone(): void;
  /** The other holds in the same slot. Their renewals cost no additional call when they go with this one. */
  besides(): Iterable<DueRenewals>;
}

/** A due renewal may wait for others to go with it for this share of its lease, but never for longer than `togetherMs`. */
const togetherShare = 1 / 60;
const togetherMs: Millis = 500;
/**
 * In a cluster the first due renewal of a hold waits for up to this share of the lease in addition, depending on its slot. So
 * when thousands of locks are granted in one burst, their renewal calls are spread over half of each later period. In the worst
 * case half of the lease is left.
 */
const spreadShare = 1 / 6;
const spreadSteps = 64;
/** A hold that was renewed with its slot within this share of its lease is not due yet. */
const freshShare = 1 / 4;

/**
 * The renewals of one hold that core asks for by the clock. In a cluster the first hold of a slot that is due takes the others of
 * its slot along, so that each slot costs one call in a period. The first renewal of a hold takes none along: those of a crowd are
 * due together and share calls anyway, and if each looked at all others, a crowd in one slot would stop the process.
 */
export class DueRenewals {
  readonly #hold: Renewable;
  /**
   * The lease of the last due renewal. `null`: no renewal was due yet, and the hold may be one that has to end after its first
   * lease.
   */
  #leaseMs: Millis | null = null;
  #pending: Promise<Millis | null> | undefined;

  constructor(hold: Renewable) {
    this.#hold = hold;
  }

  /** Whether core renews this hold by the clock. */
  get periodic(): boolean {
    return this.#leaseMs !== null;
  }

  async due(leaseMs: Millis): Promise<Millis | null> {
    const hold = this.#hold;
    const { slot } = hold;
    const first = this.#leaseMs === null;
    this.#leaseMs = leaseMs;
    if (this.#pending !== undefined) return this.#pending;
    if (slot !== null && hold.nowMs() - hold.confirmedSentMs < leaseMs * freshShare)
      return hold.validUntilMs();
    const withinMs = waitMs(leaseMs) + (first ? spreadMs(slot, leaseMs) : 0);
    const renewal = this.#renew(leaseMs, withinMs);
    if (slot !== null && !first) for (const each of hold.besides()) each.#goAlong();
    return renewal;
  }

  /** The whole slot is sent at the earliest of their times, so a hold with a short lease does not wait for one with a long lease. */
  #goAlong(): void {
    if (this.#leaseMs === null || this.#pending !== undefined || this.#hold.ended) return;
    this.#renew(this.#leaseMs, waitMs(this.#leaseMs)).then(
      (untilMs) => {
        if (untilMs === null) this.#hold.gone();
      },
      () => {
        // The hold is already uncertain and its deadline has not moved. Core asks again when this hold is due.
      },
    );
  }

  #renew(leaseMs: Millis, withinMs: Millis): Promise<Millis | null> {
    const renewal = this.#hold.renewWithin(leaseMs, withinMs).finally(() => {
      this.#pending = undefined;
    });
    this.#pending = renewal;
    return renewal;
  }
}

function waitMs(leaseMs: Millis): Millis {
  return Math.min(togetherMs, leaseMs * togetherShare);
}

function spreadMs(slot: number | null, leaseMs: Millis): Millis {
  return slot === null ? 0 : ((slot % spreadSteps) / spreadSteps) * leaseMs * spreadShare;
}
