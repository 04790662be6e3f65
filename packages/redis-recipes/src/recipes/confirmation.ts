import type { Millis } from "@holdfast/core";
import type { RedisDesk } from "./desk.js";
import type { ExclusiveLock } from "./exclusive-lock.js";
import type { Offer } from "./hand-over.js";
import { renewAcknowledged } from "./redis-hold.js";
import { marginMs } from "./server-clock.js";

/** Rule 1: what was asked before a step of the server's clock was noticed says nothing of how long a hold lasts. */
export function trusts(
  desk: RedisDesk,
  { runId, sentMs }: { readonly runId: string; readonly sentMs: Millis },
): boolean {
  return desk.clocks.of(runId)?.trusts(sentMs) !== false;
}

/**
 * One renewal that says whether an owner holds, and gives it the full lease if so. Rule 1: the token of this answer counts, not that of
 * a message before it, which may be of an earlier turn of this very owner. `null`: it does not hold, or the answer does not count.
 *
 * Rejects as `RedisLine.run` does, and where too few replicas have it.
 */
export async function confirmHold(
  desk: RedisDesk,
  lock: ExclusiveLock,
  owner: string,
  leaseMs: Millis,
): Promise<(Offer & { readonly untilMs: Millis }) | null> {
  const { renewal, renewKeys, name: lockName } = lock;
  const { settings, batches, line } = desk;
  const entry = { field: lock.fieldOf(owner), leaseMs };
  // Rule 11: counted for a write of the new holder itself.
  const {
    reply,
    sentMs,
    answeredMs,
    runId,
    askedBy = runId,
  } = await (settings.acks > 0
    ? renewAcknowledged(desk, { renewal, renewKeys, lockName }, entry)
    : batches.ask(renewal, renewKeys, entry));
  desk.heard(reply.serverMs, { sentMs, answeredMs, runId });
  if (reply.status !== "renewed") return null;
  if (askedBy !== line.masterOf(lock.key) || !trusts(desk, { sentMs, runId })) return null;
  // Rule 9: the master has lost tokens. A heartbeat lifts this one above what was seen here.
  if (reply.token < desk.floorOf(lock.key)) return null;
  const untilMs = sentMs + reply.pttlMs - marginMs(reply.pttlMs);
  return { token: reply.token, untilMs, runId, askedMs: sentMs };
}
