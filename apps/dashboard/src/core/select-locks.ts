import type { LockFigures, ObservedLock } from "@holdfast/collectors";
import { textMatcher } from "@holdfast/collectors/internal";
import type { LocksQuery } from "../contract/api.js";
import type { NamedCollector } from "./cluster-row.js";
import type { Place, Sort } from "./cursor.js";
import { sortInTurns } from "./sort-in-turns.js";
import { Turns } from "./turns.js";

export interface Selected {
  readonly cluster: string;
  readonly lock: ObservedLock;
}

/** A lock that may come on the page: the key and value are enough to find its row and its place. */
interface Candidate {
  readonly from: NamedCollector;
  readonly key: string;
  /** The value by which it is sorted; `null` comes last. */
  readonly value: number | null;
}

export interface Selection {
  /** In order. A lock that went while all were walked is left out, so there may be fewer than the page has room for. */
  readonly rows: Selected[];
  readonly total: number;
  /** Where the next page begins; `null` if this is the last one. It may be the place of a lock that is gone. */
  readonly next: Place | null;
}

/**
 * One page of what matches, in one walk through memory. It does not sort 100,000 locks to show 100 rows: it gathers
 * candidates in a buffer, and cuts the buffer to a page whenever it is full. Other work can run meanwhile; a change in
 * that time may or may not be seen.
 */
export async function selectLocks(
  clusters: Iterable<NamedCollector>,
  query: LocksQuery,
  page: { readonly sort: Sort; readonly limit: number; readonly after: Place | null; readonly nowMs: number },
): Promise<Selection> {
  const { sort, limit, after } = page;
  // One more than the page needs shows whether there is a next page.
  const count = limit + 1;
  const room = count * 4 + 1_000;
  let candidates: Candidate[] = [];
  let worst: Candidate | null = null;
  let total = 0;
  const cut = (): void => {
    candidates.sort(inOrder);
    candidates = candidates.slice(0, count);
    worst = candidates.length === count ? (candidates.at(-1) ?? null) : null;
  };
  await eachMatch(clusters, query, page, (from, key, value) => {
    total += 1;
    if (after !== null && compare(value, key, from.name, after) <= 0) return;
    if (worst !== null && compare(value, key, from.name, placed(worst)) >= 0) return;
    candidates.push({ from, key, value });
    if (candidates.length >= room) cut();
  });
  cut();
  const shown = candidates.slice(0, limit);
  const last = candidates.length > limit ? shown.at(-1) : undefined;
  const rows = shown.map(selectedOf).filter((row) => row !== null);
  return { rows, total, next: last === undefined ? null : { sort, ...placed(last) } };
}

/** All locks that match, in order. Each is read when its turn comes. */
export async function selectAllLocks(
  clusters: Iterable<NamedCollector>,
  query: LocksQuery,
  { sort, nowMs }: { readonly sort: Sort; readonly nowMs: number },
): Promise<{ readonly total: number; rows(): Iterable<Selected | null> }> {
  const found: Candidate[] = [];
  await eachMatch(clusters, query, { sort, nowMs }, (from, key, value) => found.push({ from, key, value }));
  const inOrderOfAll = await sortInTurns(found, inOrder);
  return {
    total: inOrderOfAll.length,
    *rows() {
      for (const candidate of inOrderOfAll) yield selectedOf(candidate);
    },
  };
}

/** `null` if the lock is gone. */
function selectedOf({ from, key }: Candidate): Selected | null {
  const lock = from.collector.get(key);
  return lock === undefined ? null : { cluster: from.name, lock };
}

/** One walk over all locks, in turns. */
async function eachMatch(
  clusters: Iterable<NamedCollector>,
  query: LocksQuery,
  { sort, nowMs }: { readonly sort: Sort; readonly nowMs: number },
  take: (from: NamedCollector, key: string, value: number | null) => void,
): Promise<void> {
  const { owner = "" } = query;
  const sortValueOf = sortValues[sort];
  const matches = matcherOf(query, nowMs);
  const turns = new Turns();
  for (const from of clusters) {
    const { name, collector } = from;
    if (query.cluster !== undefined && query.cluster !== name) continue;
    if (query.backend !== undefined && query.backend !== collector.backend) continue;
    for (const lock of collector.figures()) {
      if (turns.isOver()) await turns.next();
      if (!matches(lock)) continue;
      const { key } = lock;
      if (owner !== "" && !collector.isHeldBy(key, owner)) continue;
      take(from, key, sortValueOf(lock));
    }
  }
}

/** Each value is such that the smallest comes first. */
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
