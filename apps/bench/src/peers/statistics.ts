import type { Millis } from "@holdfast/core";
import { Latencies } from "../latencies.js";
import type { Grant, Samples } from "./protocol.js";
import type { Meter } from "./server.js";

/** What one peer did in one round of one workload. `null`: this workload does not have that figure. */
export interface Figures {
  /** Pairs a second. If owners wait for each other: grants a second, whichever owner had the lock before. */
  readonly rate: number | null;
  /** Grants a second that went to another owner than the one before. */
  readonly handOffRate: number | null;
  /**
   * The time of a pair, from the call of acquire until release is done; of a hand-off, from the call of release to the
   * grant.
   */
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  /** Seconds of processor time for 1,000 operations. */
  readonly clientCpu: number | null;
  readonly serverCpu: number | null;
  /** Requests at the server for each operation; if owners only wait, for each second. */
  readonly requests: number | null;
  /** The share of one core. */
  readonly clientShare: number | null;
  readonly serverShare: number | null;
  /** How many later calls were granted before an acquire was, on average and at most. */
  readonly passedBy: number | null;
  readonly passedByMost: number | null;
}

export type FigureName = keyof Figures;

const nothing: Figures = {
  rate: null,
  handOffRate: null,
  p50Ms: null,
  p99Ms: null,
  clientCpu: null,
  serverCpu: null,
  requests: null,
  clientShare: null,
  serverShare: null,
  passedBy: null,
  passedByMost: null,
};

/** One stretch of work, and the meters of server and client before and after it. */
export interface Measured {
  readonly samples: Samples;
  readonly before: Meter;
  readonly after: Meter;
}

/**
 * The figures of operations, in one stretch or in several that count as one. At `untilMs` owners that loop stop
 * calling. Those that still wait are then served one after the other, which is a queue that drains and no crowd. So
 * rates and hand-offs are counted only until then.
 */
export function figuresOfWork(
  stretches: readonly Measured[],
  untilMs: Millis = Number.POSITIVE_INFINITY,
): Figures {
  const sum = (of: (stretch: Measured) => number): number =>
    stretches.reduce((total, stretch) => total + of(stretch), 0);
  const operations = sum(({ samples }) => samples.operations);
  const contended = stretches.some(({ samples }) => samples.grants.length > 0);
  const passed = stretches.map(({ samples }) => passedByOf(samples.grants.map(([call]) => call)));
  const crowds = stretches.map(({ samples }) => crowdOf(samples.grants, untilMs));
  const seconds =
    sum(({ samples }) => (contended ? Math.min(samples.tookMs, untilMs) : samples.tookMs)) / 1_000;
  const handOffsUs = crowds.flatMap((crowd) => crowd.handOffsUs);
  const pairsUs = stretches.flatMap(({ samples }) => samples.latenciesUs);
  const latencies = new Latencies();
  for (const us of contended ? handOffsUs : pairsUs) latencies.add(us / 1_000);
  const { p50Ms, p99Ms } = latencies.summary();
  return {
    ...nothing,
    rate: (contended ? crowds.reduce((total, { grants }) => total + grants, 0) : operations) / seconds,
    handOffRate: contended ? handOffsUs.length / seconds : null,
    p50Ms,
    p99Ms,
    // Milliseconds for one operation are seconds for 1,000.
    clientCpu: sum(({ before, after }) => after.clientCpuMs - before.clientCpuMs) / operations,
    serverCpu: sum(({ before, after }) => after.serverCpuMs - before.serverCpuMs) / operations,
    requests: sum(({ before, after }) => after.requests - before.requests) / operations,
    passedBy: contended ? passed.reduce((total, { all }) => total + all, 0) / operations : null,
    passedByMost: contended ? Math.max(...passed.map(({ most }) => most)) : null,
  };
}

/** The figures of a stretch in which owners only wait. */
export function figuresOfIdling(before: Meter, after: Meter): Figures {
  const tookMs = after.atMs - before.atMs;
  return {
    ...nothing,
    requests: ((after.requests - before.requests) / tookMs) * 1_000,
    clientShare: (after.clientCpuMs - before.clientCpuMs) / tookMs,
    serverShare: (after.serverCpuMs - before.serverCpuMs) / tookMs,
  };
}

/**
 * The grants from the beginning of the work until `untilMs`, and the times of those that went to another owner than the
 * one before.
 */
export function crowdOf(
  grants: readonly Grant[],
  untilMs: Millis,
): { readonly grants: number; readonly handOffsUs: readonly number[] } {
  const handOffsUs: number[] = [];
  let counted = 0;
  grants.forEach(([, owner, grantedUs], at) => {
    if (grantedUs < 0 || grantedUs > untilMs * 1_000) return;
    counted++;
    const before = grants[at - 1];
    if (before === undefined) return;
    const [, ownerBefore, , releasedUs] = before;
    if (owner !== ownerBefore) handOffsUs.push(grantedUs - releasedUs);
  });
  return { grants: counted, handOffsUs };
}

/**
 * How many later calls were granted before an earlier one, in all and at most. `grants` has the acquires, numbered by
 * their calls, in the order of their grants. A Fenwick tree counts those that were granted already.
 */
export function passedByOf(grants: readonly number[]): { readonly all: number; readonly most: number } {
  const calls = grants.reduce((most, call) => Math.max(most, call + 1), 0);
  const tree = new Uint32Array(calls + 1);
  let all = 0;
  let most = 0;
  grants.forEach((call, granted) => {
    let earlier = 0;
    for (let at = call; at > 0; at -= at & -at) earlier += tree[at] as number;
    const passed = granted - earlier;
    all += passed;
    most = Math.max(most, passed);
    for (let at = call + 1; at <= calls; at += at & -at) tree[at] = (tree[at] as number) + 1;
  });
  return { all, most };
}

/** The median of several rounds, the smallest and the largest. */
export interface Spread {
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

/** `null` if there is no value. Values that are `null` or not numbers do not count. */
export function spreadOf(values: readonly (number | null)[]): Spread | null {
  const sorted = values.filter((value): value is number => value !== null && Number.isFinite(value));
  if (sorted.length === 0) return null;
  sorted.sort((a, b) => a - b);
  const at = (index: number): number => sorted[index] as number;
  const middle = (sorted.length - 1) / 2;
  return {
    median: (at(Math.floor(middle)) + at(Math.ceil(middle))) / 2,
    least: at(0),
    most: at(sorted.length - 1),
  };
}

/** One round of one peer in one workload. */
export interface Sample {
  readonly workload: string;
  readonly backend: string;
  readonly peer: string;
  /** From 1 on. */
  readonly round: number;
  readonly figures: Figures;
}

export function spread(samples: readonly Sample[], figure: FigureName): Spread | null {
  return spreadOf(samples.map(({ figures }) => figures[figure]));
}

/**
 * The ratio to the reference, taken within each round, because what changes from round to round is the same for both.
 */
export function ratio(
  samples: readonly Sample[],
  reference: readonly Sample[],
  figure: FigureName,
): Spread | null {
  return spreadOf(
    samples.map(({ round, figures }) => {
      const own = figures[figure];
      const other = reference.find((sample) => sample.round === round)?.figures[figure] ?? null;
      return own === null || other === null || other === 0 ? null : own / other;
    }),
  );
}
