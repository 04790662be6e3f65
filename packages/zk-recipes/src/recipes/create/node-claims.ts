import type { SessionContext } from "../session/session-context.js";

const claims = new WeakMap<SessionContext, Map<string, bigint>>();

/**
 * Records that an attempt of this session created the node. Several attempts may have lost their answer and later find the same
 * node; only the first claim counts.
 */
export function claim(context: SessionContext, path: string, czxid: bigint): void {
  const known = claims.get(context);
  if (known === undefined) claims.set(context, new Map([[path, czxid]]));
  else known.set(path, czxid);
}

/** For each path the latest claim is enough: later nodes have a higher czxid. */
export function isClaimed(context: SessionContext, path: string, czxid: bigint): boolean {
  return czxid <= (claims.get(context)?.get(path) ?? 0n);
}
