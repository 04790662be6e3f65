import type { Waits } from "../../../src/contract/api.js";

type Edge = Waits["edges"][number];

/**
 * The part of all waits that a page of one cluster shows; `null` means all clusters. A cycle through several clusters
 * is shown with each of them.
 */
export function waitsIn(
  { edges, cycles, blind }: Pick<Waits, "edges" | "cycles" | "blind">,
  cluster: string | null,
): Pick<Waits, "edges" | "cycles" | "blind"> {
  if (cluster === null) return { edges, cycles, blind };
  const own = edges.filter((each) => each.cluster === cluster);
  const locks = new Set(own.map(({ lockId }) => lockId));
  return {
    edges: own,
    cycles: cycles.filter(({ lockIds }) => lockIds.some((id) => locks.has(id))),
    blind: blind.filter((each) => each.cluster === null || each.cluster === cluster),
  };
}

/** A holder for which others wait, and the waiters behind it. */
export interface Blocker {
  readonly actor: string;
  /** How many actors wait behind it in all; each is counted once. */
  readonly behind: number;
  /** True if it waits for several holders, and its own locks are shown at another place of the tree. */
  readonly again: boolean;
  readonly holds: readonly Held[];
}

/** A lock that is held, and its waiters. */
export interface Held {
  readonly lockId: string;
  readonly key: string;
  readonly blocked: readonly { readonly blocker: Blocker; readonly deadlineMs: number | null }[];
}

/**
 * The waits as a forest: at the top an actor that blocks others, below it the locks that it holds, below these their
 * waiters. Actors that only wait in a cycle have no top, so the one with the most waiters is taken. The locks of an
 * actor are shown once. All trees have at most `limit` places; `left` counts the actors that found no place.
 */
export function waitForest(edges: readonly Edge[], limit: number): { forest: Blocker[]; left: number } {
  const waits = new Set(edges.map(({ from }) => from));
  const blocks = new Map<string, Edge[]>();
  for (const edge of edges) {
    const own = blocks.get(edge.to);
    if (own === undefined) blocks.set(edge.to, [edge]);
    else own.push(edge);
  }
  const counts = new Map<string, number>();
  const behind = (actor: string): number => {
    const known = counts.get(actor);
    if (known !== undefined) return known;
    const seen = new Set([actor]);
    const todo = [actor];
    for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
      for (const { from } of blocks.get(next) ?? []) {
        if (seen.has(from)) continue;
        seen.add(from);
        todo.push(from);
      }
    }
    counts.set(actor, seen.size - 1);
    return seen.size - 1;
  };
  const shown = new Set<string>();
  let places = 0;
  const grow = (actor: string): Blocker => {
    places += 1;
    const again = shown.has(actor);
    shown.add(actor);
    return { actor, behind: behind(actor), again, holds: again ? [] : holdsOf(actor) };
  };
  const holdsOf = (actor: string): Held[] => {
    const locks = new Map<string, Edge[]>();
    for (const edge of blocks.get(actor) ?? []) {
      const own = locks.get(edge.lockId) ?? [];
      // Two threads of one process are one actor on ZooKeeper, so it is listed once.
      if (!own.some(({ from }) => from === edge.from)) own.push(edge);
      locks.set(edge.lockId, own);
    }
    const holds: Held[] = [];
    for (const [lockId, own] of locks) {
      const blocked: { blocker: Blocker; deadlineMs: number | null }[] = [];
      for (const { from, deadlineMs } of own) {
        if (places < limit) blocked.push({ blocker: grow(from), deadlineMs });
      }
      if (blocked.length > 0) holds.push({ lockId, key: own[0]?.key ?? lockId, blocked });
    }
    return holds;
  };
  const forest: Blocker[] = [];
  const most = [...blocks.keys()].sort((a, b) => behind(b) - behind(a));
  for (const actor of [...most.filter((each) => !waits.has(each)), ...most]) {
    if (places < limit && !shown.has(actor)) forest.push(grow(actor));
  }
  const all = new Set(edges.flatMap(({ from, to }) => [from, to]));
  return { forest, left: [...all].filter((actor) => !shown.has(actor)).length };
}
