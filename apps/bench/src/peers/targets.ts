import { peers } from "./peers.js";
import { type FigureName, ratio, type Sample, type Spread, spread } from "./statistics.js";
import type { Backend } from "./workloads.js";

/** What one figure of ours has to reach on a machine that does nothing else. */
export interface Target {
  readonly backend: Backend;
  readonly workload: string;
  readonly figure: FigureName;
  readonly peer: "holdfast" | "holdfast+keepMs";
  /** `ratio`: relative to the reference peer, within a round. `value`: the figure itself. */
  readonly of: "ratio" | "value";
  readonly must: number;
  readonly aim: number;
}

export type Reached = "aim" | "must" | "missed" | "not measured";

/** The median of the rounds decides. */
export interface Judged {
  readonly target: Target;
  readonly measured: Spread | null;
  /** The same figure of the shortest exchange, which is the floor. */
  readonly shortest: Spread | null;
  readonly reached: Reached;
}

type Row = readonly [workload: string, figure: FigureName, must: number, aim: number];

function ratios(backend: Backend, peer: Target["peer"], rows: readonly Row[]): Target[] {
  return rows.map(([workload, figure, must, aim]) => ({
    ...{ backend, workload, figure, peer, of: "ratio", must, aim },
  }));
}

function values(backend: Backend, peer: Target["peer"], rows: readonly Row[]): Target[] {
  return ratios(backend, peer, rows).map((target) => ({ ...target, of: "value" }));
}

export const targets: readonly Target[] = [
  ...ratios("zookeeper", "holdfast", [
    ["pair", "p50Ms", 0.9, 0.85],
    ["pair", "clientCpu", 0.8, 0.65],
    ["pairs-64", "rate", 1, 1.2],
    ["pairs-64", "clientCpu", 1.05, 0.9],
    ["crowd-16", "handOffRate", 1.5, 1.8],
    ["crowd-128", "handOffRate", 1.6, 2],
    ["queue-200", "handOffRate", 2.6, 3.2],
    ["queue-200", "p99Ms", 0.35, 0.25],
  ]),
  ...ratios("zookeeper", "holdfast+keepMs", [["pair-kept", "rate", 50, 100]]),
  ...values("zookeeper", "holdfast+keepMs", [["pair-kept", "p50Ms", 0.02, 0.01]]),
  ...ratios("redis", "holdfast", [
    ["pair", "p50Ms", 1.35, 1.2],
    ["pair", "clientCpu", 1.6, 1.4],
    ["pairs-64", "rate", 0.45, 0.6],
    ["pairs-64", "clientCpu", 2.4, 1.8],
    ["pairs-64", "serverCpu", 2.2, 1.8],
    ["crowd-16", "handOffRate", 25, 30],
    ["crowd-128", "handOffRate", 15, 20],
    ["queue-200", "p50Ms", 0.1, 0.08],
  ]),
  ...values("redis", "holdfast", [
    ["idle-200", "requests", 500, 400],
    ["idle-5000", "serverShare", 0.1, 0.05],
  ]),
];

/** The peers that targets need: ours, the references, and the floor. */
export const targetPeers: readonly string[] = [
  ...new Set([
    ...peers.filter(({ reference }) => reference === true).map(({ name }) => name),
    ...targets.map(({ peer }) => peer),
    "shortest",
  ]),
];

export function isTargeted(backend: Backend, workload: string): boolean {
  return targets.some((target) => target.backend === backend && target.workload === workload);
}

export function judge(target: Target, samples: readonly Sample[]): Judged {
  const { backend, workload, figure, must, aim } = target;
  const reference = peers.find((peer) => peer.backend === backend && peer.reference === true)?.name;
  const of = (name: string | undefined): Sample[] =>
    samples.filter(
      (sample) => sample.backend === backend && sample.workload === workload && sample.peer === name,
    );
  const measure = (peer: string): Spread | null =>
    target.of === "ratio" ? ratio(of(peer), of(reference), figure) : spread(of(peer), figure);
  const measured = measure(target.peer);
  return { target, measured, shortest: measure("shortest"), reached: reachedBy(measured, must, aim) };
}

/** `aim` and `must` show whether more is better: if `aim` is larger, it is. */
function reachedBy(measured: Spread | null, must: number, aim: number): Reached {
  if (measured === null) return "not measured";
  const meets = (bound: number): boolean =>
    aim > must ? measured.median >= bound : measured.median <= bound;
  if (meets(aim)) return "aim";
  return meets(must) ? "must" : "missed";
}
