import type { SubjectKind } from "./messages.js";

// The counts of a lock, a group or an owner in a stretch of time.

/**
 * The histograms have four buckets for each doubling in ms, so that a percentile is at most 19 % above what was
 * measured.
 */
const perDoubling = 4;
/** Its bound is 2 ** 31 ms, about 25 days. Everything longer is in it too. */
const lastBucket = 31 * perDoubling;

/** Pairs of a bucket and its count, in order of the buckets. Nearly every lock has only a few. */
export type Buckets = number[];

export function bucketOf(ms: number): number {
  return ms <= 1 ? 0 : Math.min(lastBucket, Math.ceil(perDoubling * Math.log2(ms) - 1e-9));
}

/** The bound in ms: no measurement of the bucket is above it. */
export function boundOf(bucket: number): number {
  return 2 ** (bucket / perDoubling);
}

export function countIn(buckets: Buckets, bucket: number, count: number): void {
  let at = 0;
  while (at < buckets.length && (buckets[at] as number) < bucket) at += 2;
  if (buckets[at] === bucket) buckets[at + 1] = (buckets[at + 1] as number) + count;
  else buckets.splice(at, 0, bucket, count);
}

/** The bound of the bucket that contains the measurement of that rank; `null` if there is none. */
export function percentileOf(buckets: Buckets, share: number): number | null {
  const total = totalOf(buckets);
  if (total === 0) return null;
  let left = Math.max(1, Math.ceil(total * share));
  for (let at = 0; at < buckets.length; at += 2) {
    left -= buckets[at + 1] as number;
    if (left <= 0) return boundOf(buckets[at] as number);
  }
  return boundOf(lastBucket);
}

/**
 * The percentile of two histograms together, counted from the top. This makes no third histogram for each of 100,000
 * locks.
 */
export function percentileOfBoth(one: Buckets, other: Buckets, share: number): number | null {
  if (other.length === 0) return percentileOf(one, share);
  if (one.length === 0) return percentileOf(other, share);
  let above = Math.floor(
    totalOf(one) + totalOf(other) - Math.max(1, Math.ceil((totalOf(one) + totalOf(other)) * share)),
  );
  let a = one.length - 2;
  let b = other.length - 2;
  while (a >= 0 || b >= 0) {
    const bucket = Math.max(a < 0 ? -1 : (one[a] as number), b < 0 ? -1 : (other[b] as number));
    if (a >= 0 && one[a] === bucket) {
      above -= one[a + 1] as number;
      a -= 2;
    }
    if (b >= 0 && other[b] === bucket) {
      above -= other[b + 1] as number;
      b -= 2;
    }
    if (above < 0) return boundOf(bucket);
  }
  return null;
}

function totalOf(buckets: Buckets): number {
  let total = 0;
  for (let at = 1; at < buckets.length; at += 2) total += buckets[at] as number;
  return total;
}

/** Sums, maxima, and histograms of what was measured from both ends. */
export class Tally {
  readonly kind: SubjectKind;
  readonly cluster: string;
  /** The subject that is the group of a lock; `null` for other subjects. */
  readonly group: number | null;
  grants = 0;
  ends = 0;
  /** Ends that were no release. */
  lost = 0;
  /** The time of all holds, including those of which only a lower bound is known. */
  heldMs = 0;
  holdMaxMs = 0;
  /** Grants that had to wait, as far as that was seen. */
  waits = 0;
  waitedMs = 0;
  waitMaxMs = 0;
  /** The number of waiters times how long they waited. It shows contention even where single waits are hidden. */
  loadMs = 0;
  readonly holds: Buckets = [];
  readonly waitTimes: Buckets = [];

  constructor({ kind, cluster, group }: Pick<Tally, "kind" | "cluster" | "group">) {
    this.kind = kind;
    this.cluster = cluster;
    this.group = group;
  }

  add(other: Tally): void {
    this.grants += other.grants;
    this.ends += other.ends;
    this.lost += other.lost;
    this.heldMs += other.heldMs;
    this.holdMaxMs = Math.max(this.holdMaxMs, other.holdMaxMs);
    this.waits += other.waits;
    this.waitedMs += other.waitedMs;
    this.waitMaxMs = Math.max(this.waitMaxMs, other.waitMaxMs);
    this.loadMs += other.loadMs;
    addAll(this.holds, other.holds);
    addAll(this.waitTimes, other.waitTimes);
  }
}

function addAll(to: Buckets, from: Buckets): void {
  for (let at = 0; at < from.length; at += 2) countIn(to, from[at] as number, from[at + 1] as number);
}

/** A tally as one row of the store has it. */
export type TallyRow = readonly [
  ...figures: [number, number, number, number, number, number, number, number, number],
  holds: string,
  waitTimes: string,
];

export function rowOfTally(tally: Tally): TallyRow {
  const { grants, ends, lost, heldMs, holdMaxMs, waits, waitedMs, waitMaxMs, loadMs } = tally;
  return [
    ...([grants, ends, lost, heldMs, holdMaxMs, waits, waitedMs, waitMaxMs, loadMs] as const),
    tally.holds.join(" "),
    tally.waitTimes.join(" "),
  ];
}

export function tallyOfRow(of: Pick<Tally, "kind" | "cluster" | "group">, row: TallyRow): Tally {
  const tally = new Tally(of);
  [
    tally.grants,
    tally.ends,
    tally.lost,
    tally.heldMs,
    tally.holdMaxMs,
    tally.waits,
    tally.waitedMs,
    tally.waitMaxMs,
    tally.loadMs,
  ] = row;
  tally.holds.push(...numbersIn(row[9]));
  tally.waitTimes.push(...numbersIn(row[10]));
  return tally;
}

function numbersIn(text: string): number[] {
  return text === "" ? [] : text.split(" ").map(Number);
}
