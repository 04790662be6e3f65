import type { ObservedLockDetail, ObservedParticipant } from "../observe/observed-lock.js";

/** A contended lock with its holders and waiters. `cluster`: one name where there is one cluster. */
export interface ContendedLock {
  readonly cluster: string;
  readonly lock: ObservedLockDetail;
}

/** A waiter, and a holder that is in its way. */
export interface WaitEdge {
  readonly from: ObservedParticipant;
  readonly to: ObservedParticipant;
  readonly cluster: string;
  readonly lock: ObservedLockDetail;
}

/** From every waiter to every holder in its way. A participant without a name in the backend has no edge. */
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

/** The client, as exactly as the backend knows it: a ZooKeeper session, a Redis owner. */
export function exactNode(cluster: string, one: ObservedParticipant): string {
  return `${cluster}\0${one.actor ?? ""}`;
}

/**
 * The process, where it says who it is: the only thing that is the same in two clusters. Else the client. Several flows of one
 * process fall together in it, so what is found with it is possible and no more.
 */
export function processNode(cluster: string, one: ObservedParticipant): string {
  const { identity, session, actor } = one;
  if (identity !== null && identity.host !== null && identity.pid !== null)
    return `process\0${identity.host}\0${identity.pid}`;
  return `${cluster}\0${session ?? actor ?? ""}`;
}
