import type { LockCollector, SourceStatus } from "@holdfast/collectors";
import { listsLocks } from "@holdfast/collectors/internal";
import type { RecordReader } from "@holdfast/core";
import type { ClusterRow } from "../contract/api.js";

/** A collector under the name of its cluster. */
export interface NamedCollector {
  /** Shown to people and part of lock ids, so keep it. Unique among the clusters. */
  readonly name: string;
  /** Watches the locks of that cluster. */
  readonly collector: LockCollector;
  /**
   * Where the last runs of schedules of `@holdfast/schedules` are read: `records()` of the collector, or a provider.
   * Default: none are shown.
   */
  readonly schedules?: RecordReader;
}

/** The state of a cluster, from what its sources report. */
export function clusterRowOf({ name, collector, schedules }: NamedCollector): ClusterRow {
  const sources = collector.sources();
  const working = listSources(sources);
  const successes = successesOf(working);
  const state = stateOf(working);
  // A part of the list that is not read now is as old as its source; a part that was never read has no age.
  const behind = state === "ok" ? [] : successesOf(working.filter((each) => each.state !== "ok"));
  const newest = successes.length === 0 ? null : Math.max(...successes);
  return {
    name,
    backend: collector.backend,
    state,
    locks: collector.size,
    coverage: coverageOf(sources),
    lastSuccessMs: behind.length === 0 ? newest : Math.min(...behind),
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
 * The sources that the list of locks comes from. The other sources work when a page needs them (rows on screen,
 * sessions, servers) or now and then (comparing). If those have not begun or have nothing new, that says nothing about
 * the list.
 */
function listSources(sources: readonly SourceStatus[]): readonly SourceStatus[] {
  const working = sources.filter(({ state }) => state !== "off");
  const lists = working.filter(({ source }) => listsLocks(source));
  return lists.length === 0 ? working : lists;
}

function successesOf(sources: readonly SourceStatus[]): number[] {
  return sources.flatMap(({ lastSuccessMs }) => (lastSuccessMs === null ? [] : [lastSuccessMs]));
}

/** The coverage of the source that has seen least, because a list is only as complete as that. */
export function coverageOf(sources: readonly SourceStatus[]): number {
  const working = listSources(sources);
  return working.reduce((least, { coverage }) => Math.min(least, coverage), working.length === 0 ? 0 : 1);
}

/** The moment at which everything had last been seen; `null` while a source has never seen its part. */
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
