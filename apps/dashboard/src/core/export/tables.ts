import { whoIs } from "@holdfast/collectors/internal";
import type { AuditRow, FindingRow, LockRow, SessionRow, Waits } from "../../contract/api.js";
import type { Cell } from "./cells.js";

/** The columns of a CSV file, in their order. */
export type Columns<R> = Readonly<Record<string, (row: R) => Cell>>;

const instant = (ms: number | null): string | null => {
  const date = ms === null ? null : new Date(ms);
  return date === null || Number.isNaN(date.getTime()) ? null : date.toISOString();
};

export const lockColumns: Columns<LockRow> = {
  cluster: ({ cluster }) => cluster,
  backend: ({ backend }) => backend,
  name: ({ key }) => key,
  kind: ({ kind }) => kind,
  libraries: ({ libraries }) => libraries,
  state: ({ state }) => state,
  holders: ({ holders }) => holders.map(whoIs),
  holder_sessions: ({ holders }) => holders.flatMap(({ session }) => session ?? []),
  holder_count: ({ holderCount }) => holderCount,
  held_since: ({ oldestHold }) => instant(oldestHold.atMs),
  held_since_is: ({ oldestHold }) => oldestHold.provenance,
  waiter_count: ({ waiterCount }) => waiterCount,
  waiter_unit: ({ waiterUnit }) => waiterUnit,
  waited_since: ({ oldestWait }) => instant(oldestWait.atMs),
  waited_since_is: ({ oldestWait }) => oldestWait.provenance,
  token: ({ token }) => token,
  limit: ({ limit }) => limit,
  read: ({ readMs }) => instant(readMs),
  denied: ({ denied }) => denied,
  id: ({ id }) => id,
};

export const sessionColumns: Columns<SessionRow> = {
  cluster: ({ cluster }) => cluster,
  backend: ({ backend }) => backend,
  session: ({ id }) => id,
  label: ({ identity }) => identity?.label ?? null,
  host: ({ identity }) => identity?.host ?? null,
  pid: ({ identity }) => identity?.pid ?? null,
  address: ({ address }) => address,
  server: ({ server }) => server,
  state: ({ state }) => state,
  timeout_ms: ({ timeoutMs }) => timeoutMs,
  established: ({ established }) => instant(established.atMs),
  established_is: ({ established }) => established.provenance,
  last_seen: ({ lastSeen }) => instant(lastSeen.atMs),
  last_seen_is: ({ lastSeen }) => lastSeen.provenance,
  hold_count: ({ holdCount }) => holdCount,
  wait_count: ({ waitCount }) => waitCount,
  first_holds: ({ holds }) => holds.map(({ key }) => key),
  first_waits: ({ waits }) => waits.map(({ key }) => key),
};

/** A finding that is present, or a past one. */
export type ExportedFinding = FindingRow & { readonly past: boolean };

export const findingColumns: Columns<ExportedFinding> = {
  cluster: ({ cluster }) => cluster,
  severity: ({ severity }) => severity,
  kind: ({ kind }) => kind,
  object: ({ object }) => object,
  since: ({ sinceMs }) => instant(sinceMs),
  past: ({ past }) => past,
  evidence: ({ evidence }) => evidence,
  advice: ({ advice }) => advice,
  muted_by: ({ muted }) => muted?.by ?? null,
  muted_until: ({ muted }) => instant(muted?.untilMs ?? null),
  muted_reason: ({ muted }) => muted?.reason ?? null,
  lock_id: ({ lockId }) => lockId,
  id: ({ id }) => id,
};

export const auditColumns: Columns<AuditRow> = {
  time: ({ atMs }) => instant(atMs),
  actor: ({ actor }) => actor,
  role: ({ role }) => role,
  address: ({ address }) => address,
  action: ({ action }) => action,
  cluster: ({ cluster }) => cluster,
  object: ({ object }) => object,
  entry: ({ entry }) => entry,
  before: ({ before }) => before,
  after: ({ after }) => after,
  reason: ({ reason }) => reason,
  dry_run: ({ dryRun }) => dryRun,
  outcome: ({ outcome }) => outcome,
  id: ({ id }) => id,
};

/** A wait with the names of both sides, and whether it is part of a deadlock. */
export type ExportedWait = Waits["edges"][number] & {
  readonly waiter: string;
  readonly holder: string;
  readonly deadlock: "none" | "possible" | "certain";
};

export const waitColumns: Columns<ExportedWait> = {
  cluster: ({ cluster }) => cluster,
  waiter: ({ waiter }) => waiter,
  lock: ({ key }) => key,
  holder: ({ holder }) => holder,
  deadline: ({ deadlineMs }) => instant(deadlineMs),
  deadlock: ({ deadlock }) => deadlock,
  waiter_id: ({ from }) => from,
  holder_id: ({ to }) => to,
  lock_id: ({ lockId }) => lockId,
};
