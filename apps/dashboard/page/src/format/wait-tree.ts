import type { Waits } from "../../../src/contract/api.js";

type Edge = Waits["edges"][number];

/** Somebody who holds things up, and whoever stands behind. */
export interface Blocker {
  readonly actor: string;
  /** How many stand behind it in all, each counted once. */
  readonly behind: number;
  /** It stands elsewhere in the tree with its own: it waits for several. */
  readonly again: boolean;
  readonly holds: readonly Held[];
}

/** A lock that somebody holds, and who waits for it. */
export interface Held {
  readonly lockId: string;
  readonly key: string;
  readonly blocked: readonly { readonly blocker: Blocker; readonly deadlineMs: number | null }[];
}

/**
 * The waits as a forest: who blocks at the top, below it the locks that it holds, below those who waits for them. Those who only wait
 * in a circle have no top: the most waited for among them is taken. Each actor's own are shown once, at most `limit` places in all;
 * `left` counts the actors that found no place.
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
      // Two threads of one process are one actor on ZooKeeper: said once.
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
