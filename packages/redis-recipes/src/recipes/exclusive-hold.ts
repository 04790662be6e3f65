import type { GrantRequest, Millis } from "@holdfast/core";
import type { RedisDesk } from "./desk.js";
import type { ExclusiveLock } from "./exclusive-lock.js";
import type { Offer } from "./hand-over.js";
import { RedisHold } from "./redis-hold.js";

/** One owner of one lock, from its first request to the last. */
export interface Standee {
  readonly owner: string;
  readonly lock: ExclusiveLock;
  readonly leaseMs: Millis;
}

export interface HowGranted extends Offer {
  readonly untilMs: Millis;
  readonly roundTrips: number;
  readonly contended: boolean;
  /** The server has given the claim lease only. */
  readonly claimed: boolean;
}

/** Into the books of the provider. `release`: as in `RedisHold`. */
export function enterHold(
  desk: RedisDesk,
  { owner, lock, leaseMs }: Standee,
  { revocable }: Pick<GrantRequest, "revocable">,
  { token, untilMs, askedMs, runId, roundTrips, contended, claimed }: HowGranted,
  release: () => Promise<boolean>,
): RedisHold {
  desk.sawToken(lock.key, token);
  const hold = new RedisHold(desk, {
    lockName: lock.name,
    owner,
    key: lock.key,
    token,
    leaseMs,
    validUntilMs: untilMs,
    askedMs,
    runId,
    roundTrips,
    contended,
    claimed,
    revocable,
    renewal: lock.renewal,
    renewKeys: lock.renewKeys,
    field: lock.fieldOf(owner),
    release,
  });
  desk.holds.addAlone(hold);
  return hold;
}

/** `false` when it was not ours any more. */
export async function releaseHold(desk: RedisDesk, { owner, lock, leaseMs }: Standee): Promise<boolean> {
  const endMs = desk.runtime.nowMs() + leaseMs;
  const { reply, repeated } = await desk.runUntilAnswered(lock.release(owner), endMs);
  if (reply === null) return false;
  // Rule 3: "not yours" after an attempt that may have run is what that attempt has left.
  return reply.status !== "gone" || repeated;
}

/** The owner's last request, whatever became of those before it. `lateUntilMs`: as in `RedisDesk.runLast`. */
export async function cancelStanding(
  desk: RedisDesk,
  { owner, lock, leaseMs }: Standee,
  lateUntilMs: number | null,
): Promise<void> {
  const endMs = desk.runtime.nowMs() + leaseMs + desk.settings.aliveMs;
  await desk.runLast(lock.cancel(owner, leaseMs), endMs, lateUntilMs);
}
