import { Child } from "./child.js";
import type { Footprint, LoadDone, Serving } from "./messages.js";

export interface EmbeddedOptions {
  readonly pairs: number;
  readonly inFlight: number;
  readonly znodes: number;
  readonly sessions: number;
  readonly onProgress?: (what: string) => void;
}

export interface EmbeddedReport {
  /** Medians over fresh processes. */
  readonly startMs: number;
  readonly loadMs: number;
  /** The shortest start, for a machine that does other work as well. */
  readonly leastStartMs: number;
  readonly pairsPerSecond: number;
  readonly empty: Footprint;
  readonly full: Footprint;
}

const starts = 7;

/** Measures what the embedded server costs. Each figure is of a server in a fresh process that does nothing else. */
export async function measureEmbedded(options: EmbeddedOptions): Promise<EmbeddedReport> {
  const { pairs, inFlight, znodes, sessions, onProgress = () => {} } = options;
  onProgress(`${starts} starts`);
  const servings: Serving[] = [];
  for (let start = 0; start < starts; start++) {
    await using server = new Child("server-process");
    servings.push(await server.told<Serving>());
  }
  onProgress(`${pairs} pairs of create and delete`);
  const pairsPerSecond = await ratePairs(pairs, inFlight);
  onProgress(`${znodes} nodes and ${sessions} sessions`);
  return {
    startMs: median(servings.map(({ startMs }) => startMs)),
    loadMs: median(servings.map(({ loadMs }) => loadMs)),
    leastStartMs: Math.min(...servings.map(({ startMs }) => startMs)),
    pairsPerSecond,
    ...(await weigh(znodes, sessions)),
  };
}

async function ratePairs(pairs: number, inFlight: number): Promise<number> {
  await using server = new Child("server-process");
  const { port } = await server.told<Serving>();
  await using load = new Child("load-process");
  const { tookMs } = await load.ask<LoadDone>({ kind: "pairs", port, pairs, inFlight });
  const left = await server.ask<Footprint>({});
  // One node is the parent of all pairs. Any other was created and not deleted.
  if (left.znodes !== 1) throw new Error(`${left.znodes - 1} nodes were left by the pairs`);
  // Each create and each delete is one transaction, including those before the clock started.
  if (left.transactions < 2 * pairs) throw new Error(`only ${left.transactions} transactions`);
  return (pairs / tookMs) * 1_000;
}

async function weigh(znodes: number, sessions: number): Promise<{ empty: Footprint; full: Footprint }> {
  await using server = new Child("server-process");
  const { port, footprint: empty } = await server.told<Serving>();
  await using load = new Child("load-process");
  await load.ask<LoadDone>({ kind: "populate", port, znodes, sessions });
  const full = await server.ask<Footprint>({});
  if (full.znodes !== znodes || full.sessions !== sessions) {
    throw new Error(`${full.znodes} nodes and ${full.sessions} sessions are there`);
  }
  return { empty, full };
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
