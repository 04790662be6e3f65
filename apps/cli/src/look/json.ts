import type { Finding, ObservedLock, ObservedParticipant } from "@holdfast/collectors";
import type { Io } from "../command.js";

// What --json prints. Objects are written field by field, so nothing that a collector keeps for itself gets out by
// accident, and each field has one name for good. Times are milliseconds since 1970. Names are as the backend has them;
// JSON escapes what is not printable.

/**
 * Prints one document. Characters that could control a terminal or turn the direction of writing are escaped as JSON
 * escapes them.
 */
export function printJson({ out }: Pick<Io, "out">, value: unknown): void {
  out(`${jsonText(value, 2)}\n`);
}

/** Prints one document on one line. */
export function printJsonLine({ out }: Pick<Io, "out">, value: unknown): void {
  out(`${jsonText(value)}\n`);
}

function jsonText(value: unknown, indent?: number): string {
  // A line end here stands between two fields and stays; JSON has already escaped the line ends inside strings.
  return JSON.stringify(value, null, indent).replace(/(?!\n)[\p{C}\p{DI}\u2028\u2029]/gu, (char) =>
    char.split("").map(escaped).join(""),
  );
}

function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

export function jsonOfLock(lock: ObservedLock, findings: readonly Finding[]): Record<string, unknown> {
  return {
    name: lock.key,
    kind: lock.kind,
    state: lock.state,
    libraries: [...lock.libraries],
    holderCount: lock.holderCount,
    holders: lock.holders.map(jsonOfParticipant),
    heldSince: jsonOfMoment(lock.oldestHold),
    waiterCount: lock.waiterCount,
    waiterUnit: lock.waiterUnit,
    waitingSince: jsonOfMoment(lock.oldestWait),
    token: lock.token,
    limit: lock.limit,
    denied: lock.denied,
    readMs: lock.readMs,
    findings: findings.map(jsonOfFinding),
  };
}

export function jsonOfParticipant(one: ObservedParticipant): Record<string, unknown> {
  return {
    entry: one.entry,
    owner: one.actor,
    session: one.session,
    label: one.identity?.label ?? null,
    host: one.identity?.host ?? null,
    pid: one.identity?.pid ?? null,
    address: one.address,
    data: one.data,
    library: one.library,
    mode: one.mode,
    permits: one.permits,
    position: one.position,
    since: jsonOfMoment(one.since),
    holdCount: one.holdCount,
    lease: one.lease,
    remainingMs: one.remainingMs,
    deadlineMs: one.deadlineMs,
    token: one.token,
    mayBeKept: one.mayBeKept,
  };
}

function jsonOfFinding({
  kind,
  severity,
  object,
  sinceMs,
  evidence,
  advice,
}: Finding): Record<string, unknown> {
  return { kind, severity, object, sinceMs, evidence, advice };
}

function jsonOfMoment({ atMs, provenance }: ObservedLock["oldestHold"]): Record<string, unknown> {
  return { atMs, provenance };
}
