import type { ObservedParticipant } from "../observe/observed-lock.js";
import { strongComponents } from "./strong-components.js";
import { exactNode, processNode, type WaitEdge } from "./wait-edges.js";

export interface WaitCycle {
  /** The same as long as the same entries wait at the same locks for the same entries. */
  readonly signature: string;
  readonly certainty: "certain" | "possible";
  readonly edges: readonly WaitEdge[];
  /** One way around among `edges`: each waits for the next one's holder, the last for the first. */
  readonly ring: readonly WaitEdge[];
}

type Node = (cluster: string, one: ObservedParticipant) => string;

/**
 * Circles in which each waits for the next. Certain: all in it are threads, which do one thing at a time, and each is in the
 * way of the one before. Possible: where sessions or processes are in it, since a flow that holds need not be the one that
 * waits; across clusters, by what a process says of itself; at a semaphore, where one of several holders is enough.
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
    // Two processes that hold one permit each and wait for another one of the same semaphore are normal, and no finding.
    return locksOf(members).length === 1 && members.some(oneOfSeveral) ? [] : [members];
  });
}

/** One node that holds and waits at several locks: two of its flows may be in each other's way. At one lock it is everyday life. */
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

/** A shortest one. Of a participant that is in its own way: each of the locks once. */
function ringOf(members: readonly WaitEdge[], node: Node): readonly WaitEdge[] {
  // The same one at each look, in whatever order the locks were read.
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
 * Redisson's owner is a thread: while it waits for one lock it does nothing with another. A ZooKeeper session is shared by whatever
 * the process does, and an owner of ours is one grant, so neither says who waits for whom within its process.
 */
function betweenThreads(edge: WaitEdge): boolean {
  const { from, to } = edge;
  const shared = from.mode === "shared" && to.mode === "shared";
  return from.library === "redisson" && to.library === "redisson" && !shared && !oneOfSeveral(edge);
}

function oneOfSeveral({ lock }: WaitEdge): boolean {
  return lock.kind === "semaphore" || lock.kind === "permit-semaphore";
}

/** In one order, whatever that of the edges is. */
function locksOf(edges: readonly WaitEdge[]): string[] {
  return [...new Set(edges.map(placeOf))].sort();
}

function signatureOf({ cluster, lock, from, to }: WaitEdge): string {
  return [cluster, lock.key, from.entry, to.entry].join("\0");
}
