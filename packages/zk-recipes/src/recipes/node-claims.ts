import type { SessionDesk } from "./session-desk.js";

const claims = new WeakMap<SessionDesk, Map<string, bigint>>();

/**
 * The node at `path` is ours, says somebody on this session who has made it. Several of them may have lost an answer and find
 * one node of the session: only the first to come may take it for its own.
 */
export function claim(desk: SessionDesk, path: string, czxid: bigint): void {
  const known = claims.get(desk);
  if (known === undefined) claims.set(desk, new Map([[path, czxid]]));
  else known.set(path, czxid);
}

/** By path, the latest is enough: later nodes have a higher czxid. */
export function isClaimed(desk: SessionDesk, path: string, czxid: bigint): boolean {
  return czxid <= (claims.get(desk)?.get(path) ?? 0n);
}
