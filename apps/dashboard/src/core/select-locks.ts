import type { LockFigures, ObservedLock } from "@holdfast/collectors";
import { textMatcher } from "@holdfast/collectors/internal";
import type { LocksQuery } from "../contract/api.js";
import type { NamedCollector } from "./cluster-row.js";
import type { Place, Sort } from "./cursor.js";
import { Turns } from "./turns.js";

export interface Selected {
  readonly cluster: string;
  readonly lock: ObservedLock;
  /** What it is sorted by; `null` comes last. */
  readonly value: number | null;
}

/** One that may come on the page: enough to find the row by and to put it in its place. */
interface Candidate {
  readonly from: NamedCollector;
  readonly key: string;
  readonly value: number | null;
}

export interface Selection {
  /** In order, one more than asked for when there is more. */
  readonly rows: Selected[];
  readonly total: number;
}

/**
 * One page of what matches, in one walk through memory: 100,000 locks are not sorted for the sake of 100 rows, but gathered in a
 * buffer that is cut to a page whenever it is full. Others get their turn meanwhile, and what changes then may be seen before or after.
 */
export async function selectLocks(
  clusters: Iterable<NamedCollector>,
  query: LocksQuery,
  page: { readonly sort: Sort; readonly count: number; readonly after: Place | null; readonly nowMs: number },
): Promise<Selection> {
  const { count, after } = page;
  const { owner = "" } = query;
  const sortValueOf = sortValues[page.sort];
  const matches = matcherOf(query, page.nowMs);
  const room = count * 4 + 1_000;
  const turns = new Turns();
  let candidates: Candidate[] = [];
  let worst: Candidate | null = null;
  let total = 0;
  const cut = (): void => {
    candidates.sort(inOrder);
    candidates = candidates.slice(0, count);
    worst = candidates.length === count ? (candidates.at(-1) ?? null) : null;
  };
  for (const from of clusters) {
    const { name, collector } = from;
    if (query.cluster !== undefined && query.cluster !== name) continue;
    if (query.backend !== undefined && query.backend !== collector.backend) continue;
    for (const lock of collector.figures()) {
      if (turns.isOver()) await turns.next();
      if (!matches(lock)) continue;
      const { key } = lock;
      if (owner !== "" && !collector.isHeldBy(key, owner)) continue;
      total += 1;
      const value = sortValueOf(lock);
      if (after !== null && compare(value, key, name, after) <= 0) continue;
      if (worst !== null && compare(value, key, name, placed(worst)) >= 0) continue;
      candidates.push({ from, key, value });
      if (candidates.length >= room) cut();
    }
  }
  cut();
  const rows = candidates.flatMap(({ from, key, value }): Selected[] => {
    const lock = from.collector.get(key);
    return lock === undefined ? [] : [{ cluster: from.name, lock, value }];
  });
  return { rows, total };
}

/** Smallest first in each. */
const sortValues: Readonly<Record<Sort, (lock: LockFigures) => number | null>> = {
  waiters: (lock) => -lock.waiterCount,
  hold: (lock) => lock.oldestHold.atMs,
  wait: (lock) => lock.oldestWait.atMs,
  name: () => 0,
};

interface Position {
  readonly value: number | null;
  readonly key: string;
  readonly cluster: string;
}

function placed({ from, key, value }: Candidate): Position {
  return { value, key, cluster: from.name };
}

function inOrder(a: Candidate, b: Candidate): number {
  return compare(a.value, a.key, a.from.name, placed(b));
}

function compare(value: number | null, key: string, cluster: string, other: Position): number {
  if (value !== other.value) {
    if (value === null) return 1;
    if (other.value === null) return -1;
    return value < other.value ? -1 : 1;
  }
  if (key !== other.key) return key < other.key ? -1 : 1;
  if (cluster !== other.cluster) return cluster < other.cluster ? -1 : 1;
  return 0;
}

function matcherOf(query: LocksQuery, nowMs: number): (lock: LockFigures) => boolean {
  const { state, kind, minAgeMs } = query;
  const tests: ((lock: LockFigures) => boolean)[] = [];
  if (state !== undefined) tests.push((lock) => lock.state === state);
  if (kind !== undefined) tests.push((lock) => lock.kind === kind);
  if (minAgeMs !== undefined) {
    const latestMs = nowMs - minAgeMs;
    tests.push(({ oldestHold: { atMs } }) => atMs !== null && atMs <= latestMs);
  }
  if (query.q !== undefined && query.q !== "") {
    const named = textMatcher(query.q);
    tests.push((lock) => named(lock.key));
  }
  return (lock) => {
    for (const test of tests) if (!test(lock)) return false;
    return true;
  };
}
