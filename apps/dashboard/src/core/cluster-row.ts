import type { LockCollector, SourceStatus } from "@holdfast/collectors";
import type { RecordReader } from "@holdfast/core";
import type { ClusterRow } from "../contract/api.js";

/** A collector under the name of its cluster. */
export interface NamedCollector {
  /** Shown to people, part of lock ids: keep it. Unique among the clusters. */
  readonly name: string;
  /** Watches the locks of that cluster. */
  readonly collector: LockCollector;
  /**
   * Where the last runs of schedules of `@holdfast/schedules` are read: `records()` of the collector, or a provider. Default: none are
   * shown.
   */
  readonly schedules?: RecordReader;
}

/** How a cluster is, from what its sources say. */
export function clusterRowOf({ name, collector, schedules }: NamedCollector): ClusterRow {
  const sources = collector.sources();
  const working = listSources(sources);
  const successes = working.flatMap(({ lastSuccessMs }) => (lastSuccessMs === null ? [] : [lastSuccessMs]));
  return {
    name,
    backend: collector.backend,
    state: stateOf(working),
    locks: collector.size,
    coverage: coverageOf(sources),
    lastSuccessMs: successes.length === 0 ? null : Math.max(...successes),
    sources: sources.map(({ source, state, coverage, lastSuccessMs, nextTryMs, cost, message }) => ({
      source,
      state,
      coverage,
      lastSuccessMs,
      nextTryMs,
      cost,
      message,
    })),
    schedules: schedules !== undefined,
  };
}

/**
 * Those that the list of locks comes from. The others work when somebody looks (rows on screen, sessions, servers) or now and then
 * (comparing): that they have not begun or have nothing new says nothing about the list.
 */
function listSources(sources: readonly SourceStatus[]): readonly SourceStatus[] {
  const working = sources.filter(({ state }) => state !== "off");
  const lists = working.filter(({ source }) => /^(watch|poll|scan|pubsub|registry)\b/.test(source));
  return lists.length === 0 ? working : lists;
}

/** Of the source that has seen least: a list is as complete as that. */
export function coverageOf(sources: readonly SourceStatus[]): number {
  const working = listSources(sources);
  return working.reduce((least, { coverage }) => Math.min(least, coverage), working.length === 0 ? 0 : 1);
}

/** When everything had been seen last; `null` while something never was. */
export function lastFullMsOf(sources: readonly SourceStatus[]): number | null {
  const working = listSources(sources);
  if (working.length === 0) return null;
  let oldest = Number.POSITIVE_INFINITY;
  for (const { lastSuccessMs } of working) {
    if (lastSuccessMs === null) return null;
    oldest = Math.min(oldest, lastSuccessMs);
  }
  return oldest;
}

const sees: ReadonlySet<SourceStatus["state"]> = new Set(["starting", "syncing", "ok", "stale"]);

function stateOf(working: readonly SourceStatus[]): ClusterRow["state"] {
  const has = (state: SourceStatus["state"]): boolean => working.some((each) => each.state === state);
  if (working.length > 0 && !working.some(({ state }) => sees.has(state))) return "down";
  if (has("down") || has("stale")) return "stale";
  if (has("syncing")) return "syncing";
  return has("starting") ? "starting" : "ok";
}
