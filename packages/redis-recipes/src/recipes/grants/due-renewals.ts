import type { Millis } from "@holdfast/core";

/** What is renewed by the clock, as the others in its slot see it. */
export interface Renewable {
  /** `null`: there are no slots, and all renewals go together anyway. */
  readonly slot: number | null;
  /** When the renewal was sent that was confirmed last. */
  readonly confirmedSentMs: Millis;
  readonly ended: boolean;
  nowMs(): Millis;
  validUntilMs(): Millis;
  /** `null`: the server has it no more. */
  renewWithin(leaseMs: Millis, withinMs: Millis): Promise<Millis | null>;
  /** Reports the loss to the holder, for a renewal that core did not ask for: core does not see its answer. */
  gone(): void;
  /** Others in the same slot, whose renewal costs no call when it goes with this one. */
  besides(): Iterable<DueRenewals>;
}

/** A renewal that is due may wait for others to go with it for this share of its lease, and never for longer than the bound. */
const togetherShare = 1 / 60;
const togetherMs: Millis = 500;
/**
 * In a cluster the first due renewal of a hold waits, by its slot, for up to this share of the lease besides: of thousands that were
 * granted in one burst the calls are spread over half of every period from then on. Half of the lease is left at the worst.
 */
const spreadShare = 1 / 6;
const spreadSteps = 64;
/** A hold that was renewed with its slot within this share of its lease is not due yet. */
const freshShare = 1 / 4;

/**
 * The renewals of one hold that core asks for by the clock. In a cluster all holds of a slot are renewed with the one that is due
 * first, so that each slot costs one call in a period.
 */
export class DueRenewals {
  readonly #hold: Renewable;
  /** The lease of the last renewal that was due; `null`: none was, and it may be a hold that has to end after its first lease. */
  #leaseMs: Millis | null = null;
  #pending: Promise<Millis | null> | undefined;

  constructor(hold: Renewable) {
    this.#hold = hold;
  }

  /** Core renews it by the clock. */
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
    const withinMs = Math.min(togetherMs, leaseMs * togetherShare) + (first ? spreadMs(slot, leaseMs) : 0);
    const renewal = this.#renew(leaseMs, withinMs);
    if (slot !== null) for (const each of hold.besides()) each.#goAlong(withinMs);
    return renewal;
  }

  #goAlong(withinMs: Millis): void {
    if (this.#leaseMs === null || this.#pending !== undefined || this.#hold.ended) return;
    this.#renew(this.#leaseMs, withinMs).then(
      (untilMs) => {
        if (untilMs === null) this.#hold.gone();
      },
      () => {
        // The hold is uncertain by now, its time has not moved, and core asks when its own turn comes.
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

function spreadMs(slot: number | null, leaseMs: Millis): Millis {
  return slot === null ? 0 : ((slot % spreadSteps) / spreadSteps) * leaseMs * spreadShare;
}
