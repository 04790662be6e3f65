import type { ObservedParticipant } from "../observe/observed-lock.js";
import { strongComponents } from "./strong-components.js";
import { exactNode, processNode, type WaitEdge } from "./wait-edges.js";

export interface WaitCycle {
  /** Stays the same for as long as the same entries wait at the same locks for the same entries. */
  readonly signature: string;
  readonly certainty: "certain" | "possible";
  readonly edges: readonly WaitEdge[];
  /**
   * One closed way among `edges`: each edge ends at the participant where the next begins, and the last where the first
   * begins.
   */
  readonly ring: readonly WaitEdge[];
}

type Node = (cluster: string, one: ObservedParticipant) => string;

/**
 * Finds cycles in which each participant waits for the next. A cycle is certain if all participants are threads, which do
 * one thing at a time, and each blocks the one before. Otherwise it is only possible. With sessions or processes, the flow
 * that holds need not be the flow that waits. Across clusters, only what a process says of itself connects them. At a
 * semaphore, a permit from any one of several holders is enough.
 */
export function cyclesOf(edges: readonly WaitEdge[]): WaitCycle[] {
  const cycles: WaitCycle[] = [];
  const covered = new Set<string>();
  const add = (found: readonly WaitEdge[][], node: Node, certainty: WaitCycle["certainty"]): void => {
    for (const members of found) {
      const locks = locksOf(members).join("\n");
      if (covered.has(locks)) continue;
      covered.add(locks);
      cycles.push({
        signature: members.map(signatureOf).sort().join("\n"),
        certainty,
        edges: members,
        ring: ringOf(members, node),
      });
    }
  };
  // Cycles of threads alone come first: other participants that wait for them do not make such a cycle less certain.
  add(components(edges.filter(betweenThreads), exactNode), exactNode, "certain");
  for (const node of [exactNode, processNode] as const) {
    add([...components(edges, node), ...selfWaits(edges, node)], node, "possible");
  }
  return cycles;
}

function components(edges: readonly WaitEdge[], node: Node): WaitEdge[][] {
  const graph = new Map<string, Set<string>>();
  for (const { cluster, from, to } of edges) {
    const here = node(cluster, from);
    const targets = graph.get(here) ?? new Set();
    targets.add(node(cluster, to));
    graph.set(here, targets);
  }
  return strongComponents(graph).flatMap((component) => {
    const names = new Set(component);
    const members = edges.filter(
      ({ cluster, from, to }) =>
        names.has(node(cluster, from)) &&
        names.has(node(cluster, to)) &&
        node(cluster, from) !== node(cluster, to),
    );
    // Two processes that each hold one permit of a semaphore and wait for another permit of it are normal, and no finding.
    return locksOf(members).length === 1 && members.some(oneOfSeveral) ? [] : [members];
  });
}

/**
 * The edges of each node that holds and waits at several locks: two of its flows may block each other. At one lock this is
 * normal.
 */
function selfWaits(edges: readonly WaitEdge[], node: Node): WaitEdge[][] {
  const own = new Map<string, WaitEdge[]>();
  for (const edge of edges) {
    const here = node(edge.cluster, edge.from);
    if (here !== node(edge.cluster, edge.to) || oneOfSeveral(edge)) continue;
    const known = own.get(here);
    if (known === undefined) own.set(here, [edge]);
    else known.push(edge);
  }
  return [...own.values()].filter((each) => locksOf(each).length > 1);
}

/** A shortest closed way. For a participant that waits for itself: one edge for each of the locks. */
function ringOf(members: readonly WaitEdge[], node: Node): readonly WaitEdge[] {
  // Sorted, so that each look finds the same way, whatever the order in which the locks were read.
  const steps = members
    .map((edge) => ({
      edge,
      start: node(edge.cluster, edge.from),
      end: node(edge.cluster, edge.to),
      signature: signatureOf(edge),
    }))
    .sort((a, b) => (a.signature < b.signature ? -1 : 1));
  const edges = steps.map(({ edge }) => edge);
  const onward = new Map<string, typeof steps>();
  for (const step of steps) {
    const known = onward.get(step.start);
    if (known === undefined) onward.set(step.start, [step]);
    else known.push(step);
  }
  let shortest: readonly WaitEdge[] | undefined;
  for (const first of steps) {
    if (first.start === first.end) {
      const seen = new Set<string>();
      return edges.filter((edge) => !seen.has(placeOf(edge)) && seen.add(placeOf(edge)));
    }
    const ways = new Map<string, readonly WaitEdge[]>([[first.end, [first.edge]]]);
    for (const [here, way] of ways) {
      if (shortest !== undefined && way.length >= shortest.length) break;
      for (const { edge, end } of onward.get(here) ?? []) if (!ways.has(end)) ways.set(end, [...way, edge]);
      const round = ways.get(first.start);
      if (round === undefined) continue;
      if (shortest === undefined || round.length < shortest.length) shortest = round;
      break;
    }
    if (shortest?.length === 2) break;
  }
  return shortest ?? edges;
}

function placeOf({ cluster, lock }: WaitEdge): string {
  return [cluster, lock.backend, lock.key].join("\0");
}

/**
 * An owner of Redisson is a thread: while it waits for one lock it does nothing with another. A ZooKeeper session is shared
 * by all flows of its process, and an owner of ours is one grant. So neither shows which flow of a process waits for which.
 */
function betweenThreads(edge: WaitEdge): boolean {
  const { from, to } = edge;
  const shared = from.mode === "shared" && to.mode === "shared";
  return from.library === "redisson" && to.library === "redisson" && !shared && !oneOfSeveral(edge);
}

function oneOfSeveral({ lock }: WaitEdge): boolean {
  return lock.kind === "semaphore" || lock.kind === "permit-semaphore";
}

/** The locks of the edges, sorted, so that the order of the edges does not matter. */
function locksOf(edges: readonly WaitEdge[]): string[] {
  return [...new Set(edges.map(placeOf))].sort();
}

function signatureOf({ cluster, lock, from, to }: WaitEdge): string {
  return [cluster, lock.key, from.entry, to.entry].join("\0");
}
