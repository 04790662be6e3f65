import type { SessionDesk } from "./session-desk.js";

const claims = new WeakMap<SessionDesk, Map<string, bigint>>();

/**
 * Records that an attempt of this session created the node. Several attempts may have lost their answer and later find the same
 * node; only the first claim counts.
 */
export function claim(desk: SessionDesk, path: string, czxid: bigint): void {
  const known = claims.get(desk);
  if (known === undefined) claims.set(desk, new Map([[path, czxid]]));
  else known.set(path, czxid);
}

/** For each path the latest claim is enough: later nodes have a higher czxid. */
export function isClaimed(desk: SessionDesk, path: string, czxid: bigint): boolean {
  return czxid <= (claims.get(desk)?.get(path) ?? 0n);
}
