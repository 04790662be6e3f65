import type { LockDetail, LockRow, Participant } from "../../../src/contract/api.js";
import { span } from "./duration.js";

/**
 * Says that the connection of a holder is lost, and by when its hold ends. `null` if the connection is not lost, or if its loss
 * is not known.
 */
export function lostContact(
  { session }: Participant,
  { contacts }: Pick<LockDetail, "contacts">,
  nowMs: number,
): string | null {
  const contact = contacts.find(({ id }) => id === session);
  if (contact?.state !== "suspended") return null;
  if (contact.endsMs === null) return "connection lost, ends when its session runs out";
  // The server ends sessions at its ticks, so up to one tick after the time-out.
  return contact.endsMs <= nowMs
    ? "connection lost, ends at any moment"
    : `connection lost, ends within ${span(Math.ceil((contact.endsMs - nowMs) / 1_000) * 1_000)}`;
}

/** The time-out of a holder's session, as text; `null` if it is not known. */
export function sessionTimeout(
  { session }: Participant,
  { contacts }: Pick<LockDetail, "contacts">,
): string | null {
  const timeoutMs = contacts.find(({ id }) => id === session)?.timeoutMs ?? null;
  return timeoutMs === null ? null : span(timeoutMs);
}

/**
 * The rest of a holder's lease, counted from when its lock was read, as text; `null` if it is not known, or nothing is
 * left.
 */
export function leaseLeft(
  { remainingMs }: Pick<Participant, "remainingMs">,
  { readMs }: Pick<LockRow, "readMs">,
  nowMs: number,
): string | null {
  if (remainingMs === null) return null;
  const leftMs = remainingMs - Math.max(0, nowMs - readMs);
  return leftMs > 0 ? `${Math.ceil(leftMs / 1_000)} s left` : null;
}
