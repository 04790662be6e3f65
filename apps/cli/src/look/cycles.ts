import type { ObservedLockDetail, ObservedParticipant } from "@holdfast/collectors";

/** A waiter, and a holder that is in its way. */
export interface WaitEdge {
  readonly lock: ObservedLockDetail;
  readonly from: ObservedParticipant;
  readonly to: ObservedParticipant;
}

/** Owners of which each waits for the next, and the last for the first. */
export interface Cycle {
  /** `certain`: each is one thread, which does nothing while it waits. `possible`: the one that holds need not be the one that waits. */
  readonly certainty: "certain" | "possible";
  readonly ring: readonly WaitEdge[];
}

/** From every waiter to every holder. A participant without a name in the backend has no edge. */
export function edgesOf(locks: readonly ObservedLockDetail[]): WaitEdge[] {
  return locks.flatMap((lock) => {
    const named = lock.holders.filter(({ actor }) => actor !== null);
    return lock.waiters.flatMap((from) =>
      from.actor === null ? [] : named.map((to) => ({ lock, from, to })),
    );
  });
}

/**
 * Each circle once, a shortest one of those through the same locks. Circles among threads of Redisson come first, as those are certain. A
 * process that is in its own way is no circle: which of its tasks holds and which waits cannot be told.
 */
export function cyclesOf(edges: readonly WaitEdge[]): Cycle[] {
  const found = new Map<string, Cycle>();
  const add = (
    certainty: Cycle["certainty"],
    among: readonly WaitEdge[],
    node: (one: ObservedParticipant) => string,
  ): void => {
    for (const ring of ringsOf(among, node)) {
      const locks = [...new Set(ring.map(({ lock }) => lock.key))].sort();
      // Two processes with a permit each that wait for another permit of the same semaphore are no circle.
      if (locks.length > 1 && !found.has(locks.join("\n"))) found.set(locks.join("\n"), { certainty, ring });
    }
  };
  add("certain", edges.filter(betweenThreads), ({ actor }) => actor ?? "");
  add("possible", edges, processOf);
  return [...found.values()];
}

/** Of the circles those that still stand when their locks were read once more: the reads of the first look were not of one moment. */
export function standing(cycles: readonly Cycle[], again: readonly ObservedLockDetail[]): Cycle[] {
  const key = ({ lock, from, to }: WaitEdge): string => [lock.key, from.entry, to.entry].join("\0");
  const now = new Set(edgesOf(again).map(key));
  return cycles.filter(({ ring }) => ring.every((edge) => now.has(key(edge))));
}

/** From each owner a shortest way back to it, where there is one. */
function ringsOf(edges: readonly WaitEdge[], node: (one: ObservedParticipant) => string): WaitEdge[][] {
  const onward = new Map<string, WaitEdge[]>();
  for (const edge of edges) {
    if (node(edge.from) === node(edge.to)) continue;
    const known = onward.get(node(edge.from));
    if (known === undefined) onward.set(node(edge.from), [edge]);
    else known.push(edge);
  }
  return [...onward.keys()].flatMap((start) => {
    const ways = new Map<string, readonly WaitEdge[]>([[start, []]]);
    for (const [here, way] of ways) {
      for (const edge of onward.get(here) ?? []) {
        const next = node(edge.to);
        if (next === start) return [[...way, edge]];
        if (!ways.has(next)) ways.set(next, [...way, edge]);
      }
    }
    return [];
  });
}

/** Redisson's owner is a thread: while it waits for one lock it does nothing with another. */
function betweenThreads({ lock, from, to }: WaitEdge): boolean {
  const shared = from.mode === "shared" && to.mode === "shared";
  const oneOfSeveral = lock.kind === "semaphore" || lock.kind === "permit-semaphore";
  return from.library === "redisson" && to.library === "redisson" && !shared && !oneOfSeveral;
}

/** The process, where it says who it is, else the client. */
function processOf({ identity, session, actor }: ObservedParticipant): string {
  if (identity?.host != null && identity.pid !== null) return `${identity.host}\0${identity.pid}`;
  return session ?? actor ?? "";
}
