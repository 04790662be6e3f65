import type { ObservedLockDetail, ObservedParticipant } from "../observe/observed-lock.js";

/** A contended lock with its holders and waiters. `cluster`: always the same name where there is only one cluster. */
export interface ContendedLock {
  readonly cluster: string;
  readonly lock: ObservedLockDetail;
}

/** A waiter, and a holder that blocks it. */
export interface WaitEdge {
  readonly from: ObservedParticipant;
  readonly to: ObservedParticipant;
  readonly cluster: string;
  readonly lock: ObservedLockDetail;
}

/** The edges from every waiter to every holder of its lock. A participant without a name in the backend has no edge. */
export function edgesOf(locks: readonly ContendedLock[]): WaitEdge[] {
  const edges: WaitEdge[] = [];
  for (const { cluster, lock } of locks) {
    for (const from of lock.waiters) {
      if (from.actor === null) continue;
      for (const to of lock.holders) if (to.actor !== null) edges.push({ from, to, cluster, lock });
    }
  }
  return edges;
}

/** The node of a client, as exactly as the backend knows it: a ZooKeeper session, or a Redis owner. */
export function exactNode(cluster: string, one: ObservedParticipant): string {
  return `${cluster}\0${one.actor ?? ""}`;
}

/**
 * The node of a process that says its host and pid, which are the only names that are the same in two clusters; otherwise
 * the node of the client. All flows of one process share this node, so a cycle that is found with it is only possible.
 */
export function processNode(cluster: string, one: ObservedParticipant): string {
  const { identity, session, actor } = one;
  if (identity !== null && identity.host !== null && identity.pid !== null)
    return `process\0${identity.host}\0${identity.pid}`;
  return `${cluster}\0${session ?? actor ?? ""}`;
}
