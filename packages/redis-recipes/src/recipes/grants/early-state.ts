import type { LossReason } from "@holdfast/core";
import type { AttemptListener, GrantState } from "@holdfast/core/driver";
import type { RedisGrant } from "./redis-grant.js";

/** Stands in for core's side of a grant until core hears of it, and keeps what happened to it by then. */
class EarlyState implements GrantState {
  readonly delivered = false;
  doubted = false;
  #revoke = false;
  #lost: LossReason | undefined;

  uncertain(): void {
    this.doubted = true;
  }

  recovered(): void {
    this.doubted = false;
  }

  revokeRequested(): void {
    this.#revoke = true;
  }

  lost(reason: LossReason): void {
    this.#lost ??= reason;
  }

  passTo(state: GrantState): void {
    if (this.doubted) state.uncertain();
    if (this.#revoke) state.revokeRequested();
    if (this.#lost !== undefined) state.lost(this.#lost);
  }
}

/**
 * Enters a grant now, and tells core of it after `first`, which never rejects: something that the caller has to find done.
 * `wanted`: whether the attempt was not withdrawn meanwhile.
 */
export async function deliverAfter(
  grant: RedisGrant,
  first: Promise<unknown>,
  listener: AttemptListener,
  wanted: () => boolean,
): Promise<void> {
  const early = new EarlyState();
  grant.enter(early);
  await first;
  if (!wanted()) return;
  const [state] = listener.granted([grant]);
  grant.passTo(state);
  early.passTo(state);
}
