import type { Millis } from "@holdfast/core";
import { expiresServerMs, type HandOver } from "../layout/grant-message.js";
import type { RedisDesk } from "./desk.js";
import type { ExclusiveLock } from "./exclusive-lock.js";
import { marginMs } from "./server-clock.js";

/** A grant that was not the answer to an acquire. */
export interface Offer {
  readonly token: bigint;
  /** By our clock, with the margin taken off; `null` where only a renewal can tell. */
  readonly untilMs: Millis | null;
  readonly runId: string;
  /** As in `HoldSpec`. */
  readonly askedMs: Millis;
}

/** Below this share of the claim lease a hand-over is not relied on: its holder would be late for its own first renewal. */
const leastShare = 1 / 3;
/** Heartbeats keep the bound of the server's clock this fresh, with some room for late ones. */
export const freshBeats = 1.5;

/**
 * Rule 1: a message is a hint with a date. The claim lease began at the server before the message arrived, and the message names the
 * end of it by the server's clock: ours has to know that clock, and lately. `null`: the present master has to be asked what is true.
 */
export function offerOf(
  desk: RedisDesk,
  lock: ExclusiveLock,
  message: HandOver,
  heardMs: Millis,
): Offer | null {
  const { line, clocks, runtime, settings } = desk;
  const { token, runId, pttlMs } = message;
  const master = line.masterOf(lock.key);
  // Rule 9: of a master that is none any more.
  if (runId !== "" && runId !== master) return null;
  // Rule 9: by a master that has lost tokens, and has not heard from here of the highest that was seen. A heartbeat says it.
  if (token < desk.floorOf(lock.key)) return null;
  const clock = runId === "" ? undefined : clocks.of(master);
  const fresh = (clock?.ageMs(runtime.nowMs()) ?? Infinity) <= freshBeats * settings.heartbeatMs;
  const endMs = fresh ? (clock?.localMs(expiresServerMs(message)) ?? null) : null;
  // The lease began before the message came, whatever a step of the server's clock since its last answer makes of the date.
  const mostMs = heardMs + pttlMs;
  const untilMs = endMs === null ? null : Math.min(endMs, mostMs) - marginMs(pttlMs);
  return { token, untilMs, runId, askedMs: heardMs };
}

/** Whether it may reach its caller with no renewal before. */
export function isSure(
  desk: RedisDesk,
  lock: ExclusiveLock,
  leaseMs: Millis,
  offer: Offer,
): offer is Offer & { readonly untilMs: Millis } {
  const { settings, runtime, line } = desk;
  const leastMs = leastShare * Math.min(settings.claimLeaseMs, leaseMs);
  return (
    // Rule 11: replicas are asked about a write of the new holder itself, which this is not.
    settings.acks === 0 &&
    offer.untilMs !== null &&
    runtime.nowMs() + leastMs < offer.untilMs &&
    offer.runId === line.masterOf(lock.key) &&
    line.state === "connected"
  );
}
