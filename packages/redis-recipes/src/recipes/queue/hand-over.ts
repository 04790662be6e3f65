import type { Millis } from "@holdfast/core";
import { expiresServerMs, type HandOver } from "../../layout/grant-message.js";
import { type Found, foundIn, renewAcknowledged } from "../grants/redis-grant.js";
import type { Requests } from "../requests/requests.js";
import { marginMs } from "../requests/server-clock.js";
import { stayMs } from "../requests/settings.js";
import type { QueuedLock } from "./queued-lock.js";
import type { Wait } from "./waits.js";

/** A grant that was not the answer to an acquire. `untilMs` is `null` where only a renewal can show how long it lasts. */
export type Offer = Omit<Found, "untilMs"> & { readonly untilMs: Millis | null };

/**
 * With less than this share of the claim lease left, a hand-over is not relied on: its holder would be late for its own first
 * renewal.
 */
const leastShare = 1 / 3;
/**
 * For how many turns the bound of the server's clock counts as fresh. What a waiter sends renews it each turn; the rest is room
 * for a late answer.
 */
export const freshTurns = 1.5;
/** If turns are further apart, the bound counts as fresh for no longer than this, or for as long as heartbeats need. */
const freshMs: Millis = 3_000;

/**
 * Rule 1: a message is a hint with a date. The claim lease began at the server before the message arrived, and the message names
 * its end by the server's clock. So this client must know that clock, from a recent answer. `null`: the present master has to be
 * asked.
 */
export function offerOf(
  requests: Requests,
  lock: QueuedLock,
  message: HandOver,
  heardMs: Millis,
): Offer | null {
  const { line, runtime, settings } = requests;
  const { token, runId, pttlMs } = message;
  const master = line.masterOf(lock.key);
  // Rule 9: the message is from a master that has been replaced.
  if (runId !== "" && runId !== master) return null;
  // Rule 9: the master has lost tokens, and does not know yet the highest token that this client has seen. A heartbeat tells the
  // master.
  if (token < requests.floorOf(lock.key)) return null;
  const clock = runId === "" ? undefined : requests.clockOf(master);
  const ageMs = clock?.ageMs(runtime.nowMs()) ?? Infinity;
  const mostAgeMs = Math.max(
    freshTurns * settings.heartbeatMs,
    Math.min(freshMs, freshTurns * stayMs(settings)),
  );
  const fresh = ageMs <= mostAgeMs;
  const endMs = fresh ? (clock?.localMs(expiresServerMs(message)) ?? null) : null;
  // The lease began before the message came, however a step of the server's clock since its last answer may change the date.
  const mostMs = heardMs + pttlMs;
  const untilMs = endMs === null ? null : Math.min(endMs, mostMs) - marginMs(pttlMs + ageMs);
  return { token, untilMs, runId, askedMs: heardMs };
}

/** Whether the grant may be delivered to its caller without a renewal before. */
export function isSure(requests: Requests, lock: QueuedLock, leaseMs: Millis, offer: Offer): offer is Found {
  const { settings, runtime, line } = requests;
  const leastMs = leastShare * Math.min(settings.claimLeaseMs, leaseMs);
  return (
    // Rule 11: replicas have to confirm a write of the new holder itself, and a hand-over is not one.
    settings.acks === 0 &&
    offer.untilMs !== null &&
    runtime.nowMs() + leastMs < offer.untilMs &&
    offer.runId === line.masterOf(lock.key) &&
    line.state === "connected"
  );
}

/**
 * Sends one renewal, which shows whether an owner holds and, if so, gives it the full lease. Rule 1: the token of this answer
 * counts, and not that of an earlier message, which may belong to an earlier turn of the same owner. Resolves with `null` if the
 * owner does not hold, or if the answer does not count.
 *
 * Rejects as `RedisLine.run` does, and if too few replicas have it.
 */
export async function confirmHold(
  requests: Requests,
  { lock, owner, leaseMs }: Pick<Wait, "lock" | "owner" | "leaseMs">,
): Promise<Found | null> {
  const { settings, batches, line } = requests;
  const entry = { field: lock.fieldOf(owner), leaseMs };
  // Rule 11: replicas are counted for a write of the new holder itself.
  const asked =
    settings.acks > 0
      ? renewAcknowledged(requests, lock, entry)
      : batches.ask(lock.renewal, lock.renewKeys, entry);
  const { reply, sentMs, runId, askedBy = runId } = await asked;
  if (reply.status !== "renewed") return null;
  if (askedBy !== line.masterOf(lock.key) || !requests.trusts({ sentMs, runId })) return null;
  // Rule 9: the master has lost tokens. A heartbeat raises this one above the tokens that were seen here.
  if (reply.token < requests.floorOf(lock.key)) return null;
  return foundIn({ sentMs, runId }, reply);
}
