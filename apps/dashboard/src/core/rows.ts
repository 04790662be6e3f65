import type { ObservedLock, ObservedParticipant, ObservedSession } from "@holdfast/collectors";
import type { LastRun } from "@holdfast/schedules";
import type { LockRow, Participant, ScheduleRow, SessionRow } from "../contract/api.js";
import { lockIdOf } from "./lock-id.js";

// Rows are made field by field, so that what a collector keeps for itself in its objects never gets out by accident.

/** The row of a lock in the API. */
export function rowOf(cluster: string, lock: ObservedLock): LockRow {
  return {
    id: lockIdOf({ cluster, backend: lock.backend, key: lock.key }),
    cluster,
    backend: lock.backend,
    key: lock.key,
    kind: lock.kind,
    libraries: [...lock.libraries],
    state: lock.state,
    holders: lock.holders.map(participantOf),
    holderCount: lock.holderCount,
    waiterCount: lock.waiterCount,
    waiterUnit: lock.waiterUnit,
    oldestWait: { atMs: lock.oldestWait.atMs, provenance: lock.oldestWait.provenance },
    oldestHold: { atMs: lock.oldestHold.atMs, provenance: lock.oldestHold.provenance },
    token: lock.token,
    limit: lock.limit,
    version: lock.version,
    readMs: lock.readMs,
    denied: lock.denied,
  };
}

export function participantOf(one: ObservedParticipant): Participant {
  return {
    entry: one.entry,
    actor: one.actor,
    session: one.session,
    identity:
      one.identity === null
        ? null
        : { label: one.identity.label, host: one.identity.host, pid: one.identity.pid },
    mayBeKept: one.mayBeKept,
    address: one.address,
    data: one.data,
    mode: one.mode,
    permits: one.permits,
    position: one.position,
    since: { atMs: one.since.atMs, provenance: one.since.provenance },
    holdCount: one.holdCount,
    remainingMs: one.remainingMs,
    lease: one.lease,
    deadlineMs: one.deadlineMs,
    token: one.token,
    library: one.library,
  };
}

/** The row of a session. It names at most `mostNamed` locks in each list, because a client may hold 100,000. */
export function sessionRowOf(cluster: string, session: ObservedSession, mostNamed: number): SessionRow {
  const named = (key: string) => ({ key, lockId: lockIdOf({ cluster, backend: session.backend, key }) });
  return {
    id: session.id,
    cluster,
    backend: session.backend,
    server: session.server,
    address: session.address,
    identity:
      session.identity === null
        ? null
        : { label: session.identity.label, host: session.identity.host, pid: session.identity.pid },
    timeoutMs: session.timeoutMs,
    established: { atMs: session.established.atMs, provenance: session.established.provenance },
    lastSeen: { atMs: session.lastSeen.atMs, provenance: session.lastSeen.provenance },
    holdCount: session.holds.length,
    waitCount: session.waits.length,
    holds: session.holds.slice(0, mostNamed).map(named),
    waits: session.waits.slice(0, mostNamed).map(named),
    state: session.state,
  };
}

/** The row of a schedule in the API. */
export function scheduleRowOf(cluster: string, name: string, last: LastRun | null): ScheduleRow {
  if (last === null) return { cluster, name, last };
  const { due, state, attempt, by, began, ended, error } = last;
  return {
    cluster,
    name,
    last: {
      dueMs: due.getTime(),
      state,
      attempt,
      by,
      beganMs: began.getTime(),
      endedMs: ended?.getTime() ?? null,
      error: error ?? null,
    },
  };
}
