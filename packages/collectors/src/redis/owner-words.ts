import type { Millis, Recognised } from "@holdfast/core";
import { parseOwner } from "@holdfast/redis-recipes/internal";
import type { Moment } from "../observe/observed-lock.js";

/** The owner that a field of a lock's hash names. */
export function ownerIn(field: string): string {
  return field.endsWith(":write") ? field.slice(0, -6) : field;
}

export function libraryOf(owner: string): Recognised {
  const parsed = parseOwner(owner);
  return parsed === null ? "unknown" : parsed.ours ? "holdfast" : "redisson";
}

/** Whether a token is below another: both are decimal texts without leading zeros. */
export function isBelow(token: string, other: string): boolean {
  return token.length === other.length ? token < other : token.length < other.length;
}

/**
 * When an exclusive holder of ours got the lock, as its token shows: the token is the server's clock at the grant, in
 * microseconds, unless that clock had been set back. `null` for all other holders, of which only the first reading shows
 * that they held at least since then. Also `null` for clients that may keep locks, because they reserve tokens ahead of the
 * clock.
 */
export function grantedAt(field: string, token: string | null, atMs: Millis): Moment | null {
  const owner = parseOwner(ownerIn(field));
  if (token === null || owner?.ours !== true || owner.mayKeep) return null;
  const grantMs = Math.floor(Number(token) / 1_000);
  // Only times from 2001 on count. A time a little ahead of the reader's clock counts too: that clock is behind.
  return grantMs > 1_000_000_000_000 && grantMs < atMs + 60_000
    ? { atMs: grantMs, provenance: "exact" }
    : null;
}
