import type { AuditRow, FindingRow, LocksQuery, SessionRow } from "../../contract/api.js";
import { everyLock } from "../lock-list.js";
import type { Observatory } from "../observatory.js";
import { sessionRowOf } from "../rows.js";
import { sortInTurns } from "../sort-in-turns.js";
import {
  auditColumns,
  type Columns,
  type ExportedFinding,
  type ExportedWait,
  findingColumns,
  lockColumns,
  sessionColumns,
  waitColumns,
} from "./tables.js";

/** All rows of a list. They can be walked once. */
export interface Exported<R> {
  readonly list: string;
  readonly cluster: string | undefined;
  readonly columns: Columns<R>;
  readonly total: number;
  /** Why rows may be missing. */
  readonly notes: readonly string[];
  /** `null`: the row is gone by now. */
  readonly rows: Iterable<R | null>;
}

/** How many locks of a session are named in its row, as in the list. */
const namedLocks = 20;

export async function exportedLocks(observatory: Observatory, query: LocksQuery) {
  if (query.cluster !== undefined) observatory.checkCluster(query.cluster);
  const { total, clusters, rows } = await everyLock(observatory.clusters, query, observatory.now());
  const coverage = Math.min(1, ...clusters.map((row) => row.coverage));
  const notes = [
    ...(coverage < 1 ? [`${Math.floor(coverage * 100)} % of the backends had been read`] : []),
    ...clusters
      .filter(({ state }) => state !== "ok")
      .map(({ name, state }) => `${name} is ${state}: rows may be missing or old`),
  ];
  return { list: "locks", cluster: query.cluster, columns: lockColumns, total, notes, rows };
}

export async function exportedSessions(
  observatory: Observatory,
  { cluster, q = "" }: { readonly cluster?: string; readonly q?: string },
): Promise<Exported<SessionRow>> {
  const { found, messages } = await observatory.everySession(cluster);
  const part = q.toLowerCase();
  const matching = found.filter(({ session: { id, address, server, identity } }) =>
    [id, address, server, identity?.label, identity?.host].some((each) => each?.toLowerCase().includes(part)),
  );
  const inOrder = await sortInTurns(
    q === "" ? found : matching,
    ({ session: a }, { session: b }) =>
      b.holds.length + b.waits.length - (a.holds.length + a.waits.length) || (a.id < b.id ? -1 : 1),
  );
  return {
    ...{ list: "sessions", cluster, columns: sessionColumns, total: inOrder.length, notes: messages },
    rows: (function* () {
      for (const each of inOrder) yield sessionRowOf(each.cluster, each.session, namedLocks);
    })(),
  };
}

export function exportedFindings(observatory: Observatory, cluster?: string): Exported<ExportedFinding> {
  const { rows, past } = observatory.findings.all();
  const all = [
    ...rows.map((row) => ({ ...row, past: false })),
    ...past.map((row) => ({ ...row, past: true })),
  ].filter(inside<FindingRow & { past: boolean }>(observatory, cluster));
  return { list: "findings", cluster, columns: findingColumns, total: all.length, notes: [], rows: all };
}

export function exportedAudit(
  observatory: Observatory,
  audit: readonly AuditRow[],
  cluster?: string,
): Exported<AuditRow> {
  const rows = audit.filter(inside(observatory, cluster));
  return { list: "audit", cluster, columns: auditColumns, total: rows.length, notes: [], rows };
}

export async function exportedWaits(
  observatory: Observatory,
  cluster?: string,
): Promise<Exported<ExportedWait>> {
  const isInside = inside(observatory, cluster);
  const { actors, edges, cycles, blind } = await observatory.waits();
  const labels = new Map(actors.map(({ actor, label }) => [actor, label]));
  const deadlocks = new Map<string, ExportedWait["deadlock"]>();
  for (const { actors: ring, lockIds, certainty } of cycles)
    for (const [at, lockId] of lockIds.entries()) {
      const wait = JSON.stringify([ring[at], lockId]);
      if (deadlocks.get(wait) !== "certain") deadlocks.set(wait, certainty);
    }
  const rows = edges.filter(isInside).map((edge) => ({
    ...edge,
    waiter: labels.get(edge.from) ?? edge.from,
    holder: labels.get(edge.to) ?? edge.to,
    deadlock: deadlocks.get(JSON.stringify([edge.from, edge.lockId])) ?? ("none" as const),
  }));
  const notes = blind
    .filter((each) => each.cluster === null || isInside({ cluster: each.cluster }))
    .map(({ message }) => message);
  return { list: "waits", cluster, columns: waitColumns, total: rows.length, notes, rows };
}

function inside<R extends { readonly cluster: string }>(
  observatory: Observatory,
  cluster: string | undefined,
): (row: R) => boolean {
  if (cluster !== undefined) observatory.checkCluster(cluster);
  return (row) => cluster === undefined || row.cluster === cluster;
}
