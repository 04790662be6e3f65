import type { ObservedLock, ObservedParticipant } from "@holdfast/core/observe";
import type { LocksQuery } from "../contract/api.js";
import type { NamedCollector } from "./cluster-row.js";
import type { Place, Sort } from "./cursor.js";
import { textMatcher } from "./glob.js";

export interface Selected {
  readonly cluster: string;
  readonly lock: ObservedLock;
  /** What it is sorted by; `null` comes last. */
  readonly value: number | null;
}

export interface Selection {
  /** In order, one more than asked for when there is more. */
  readonly rows: Selected[];
  readonly total: number;
}

/**
 * One page of what matches, in one walk through memory: 100,000 locks are not sorted for the sake of 100 rows, but gathered in a
 * buffer that is cut to a page whenever it is full.
 */
export function selectLocks(
  clusters: Iterable<NamedCollector>,
  query: LocksQuery,
  page: { readonly sort: Sort; readonly count: number; readonly after: Place | null; readonly nowMs: number },
): Selection {
  const { count, after } = page;
  const sortValueOf = sortValues[page.sort];
  const matches = matcherOf(query, page.nowMs);
  const room = count * 4 + 1_000;
  let rows: Selected[] = [];
  let worst: Selected | null = null;
  let total = 0;
  const cut = (): void => {
    rows.sort(inOrder);
    rows = rows.slice(0, count);
    worst = rows.length === count ? (rows.at(-1) ?? null) : null;
  };
  for (const { name, collector } of clusters) {
    if (query.cluster !== undefined && query.cluster !== name) continue;
    if (query.backend !== undefined && query.backend !== collector.backend) continue;
    for (const lock of collector.locks()) {
      if (!matches(lock)) continue;
      total += 1;
      const value = sortValueOf(lock);
      if (after !== null && compare(value, lock.key, name, after) <= 0) continue;
      if (worst !== null && compare(value, lock.key, name, placed(worst)) >= 0) continue;
      rows.push({ cluster: name, lock, value });
      if (rows.length >= room) cut();
    }
  }
  cut();
  return { rows, total };
}

/** Smallest first in each. */
const sortValues: Readonly<Record<Sort, (lock: ObservedLock) => number | null>> = {
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

function placed({ cluster, lock, value }: Selected): Position {
  return { value, key: lock.key, cluster };
}

function inOrder(a: Selected, b: Selected): number {
  return compare(a.value, a.lock.key, a.cluster, placed(b));
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

function matcherOf(query: LocksQuery, nowMs: number): (lock: ObservedLock) => boolean {
  const { state, kind, owner, minAgeMs } = query;
  const tests: ((lock: ObservedLock) => boolean)[] = [];
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
  if (owner !== undefined && owner !== "")
    tests.push((lock) => lock.holders.some((each) => isOwner(each, owner)));
  return (lock) => {
    for (const test of tests) if (!test(lock)) return false;
    return true;
  };
}

/** Any of the words by which an owner is shown. */
function isOwner(one: ObservedParticipant, text: string): boolean {
  return [
    one.actor,
    one.session,
    one.address,
    one.data,
    one.entry,
    one.identity?.label,
    one.identity?.host,
  ].some((each) => each?.includes(text) === true);
}
