import type { ClusterRow, LockRow, Locks, LocksQuery } from "../contract/api.js";
import { within } from "./bounded.js";
import { clusterRowOf, coverageOf, lastFullMsOf, type NamedCollector } from "./cluster-row.js";
import { cursorOf, placeOf } from "./cursor.js";
import { badRequest } from "./problems.js";
import { rowOf } from "./rows.js";
import { selectAllLocks, selectLocks } from "./select-locks.js";

const usualLimit = 100;
const lookUpMs = 1_000;

/** One page of the list. The list itself never leaves the server. */
export async function listLocks(
  clusters: readonly NamedCollector[],
  query: LocksQuery,
  nowMs: number,
): Promise<Locks> {
  const after = query.cursor === undefined ? null : placeOf(query.cursor);
  if (query.cursor !== undefined && after === null)
    throw badRequest("cursor: not one that was given out here");
  const sort = query.sort ?? after?.sort ?? "waiters";
  if (after !== null && after.sort !== sort)
    throw badRequest(`cursor: it belongs to a list sorted by ${after.sort}`);
  const limit = query.limit ?? usualLimit;
  const { rows, total, next } = await selectLocks(clusters, query, { sort, limit, after, nowMs });
  const asked = chosen(clusters, query);
  const sources = asked.map(({ collector }) => collector.sources());
  const fullMs = sources.map(lastFullMsOf);
  const unlisted = total === 0 ? await lookUp(asked, query) : [];
  return {
    nowMs,
    rows: [...rows.map(({ cluster, lock }) => rowOf(cluster, lock)), ...unlisted],
    total: total + unlisted.length,
    known: asked.reduce((sum, { collector }) => sum + collector.size, 0),
    coverage: sources.length === 0 ? 0 : Math.min(...sources.map(coverageOf)),
    lastFullMs: fullMs.some((each) => each === null) ? null : oldest(fullMs),
    next: next === null ? null : cursorOf(next),
  };
}

/** All rows of the list. Each one is read when its turn comes; a row that is gone by then is left out. */
export async function everyLock(
  clusters: readonly NamedCollector[],
  query: LocksQuery,
  nowMs: number,
): Promise<{
  readonly total: number;
  /** The clusters that were asked. */
  readonly clusters: readonly ClusterRow[];
  readonly rows: Iterable<LockRow | null>;
}> {
  const { total, rows } = await selectAllLocks(clusters, query, { sort: query.sort ?? "waiters", nowMs });
  const asked = chosen(clusters, query);
  const unlisted = total === 0 ? await lookUp(asked, query) : [];
  return {
    total: total + unlisted.length,
    clusters: asked.map(clusterRowOf),
    rows: (function* () {
      for (const found of rows()) yield found === null ? null : rowOf(found.cluster, found.lock);
      yield* unlisted;
    })(),
  };
}

/** The lock whose whole name a user has typed, even if the list has not reached it yet. */
async function lookUp(clusters: readonly NamedCollector[], query: LocksQuery): Promise<Locks["rows"]> {
  const { q } = query;
  if (q === undefined || q === "" || /[*?]/.test(q)) return [];
  const { state, kind, owner, minAgeMs, cursor } = query;
  if ([state, kind, owner, minAgeMs, cursor].some((each) => each !== undefined)) return [];
  const found = await Promise.all(
    clusters
      // ZooKeeper has no name that does not begin with a slash.
      .filter(({ collector }) => collector.backend === "redis" || /^\/.*[^/]$/.test(q))
      .map(async ({ name, collector }) => {
        // The list does not depend on this look-up: a backend that is silent or refuses has reported it in its sources.
        const detail = await within(collector.detail(q, { maxWaiters: 0 }), lookUpMs).catch(() => null);
        return detail === null ? [] : [rowOf(name, detail)];
      }),
  );
  return found.flat();
}

function oldest(times: readonly (number | null)[]): number | null {
  return times.length === 0 ? null : Math.min(...times.map((each) => each ?? Number.POSITIVE_INFINITY));
}

function chosen(clusters: readonly NamedCollector[], query: LocksQuery): readonly NamedCollector[] {
  return clusters.filter(
    ({ name, collector }) =>
      (query.cluster === undefined || query.cluster === name) &&
      (query.backend === undefined || query.backend === collector.backend),
  );
}
