import { setTimeout as pause } from "node:timers/promises";
import type {
  Finding,
  LockCollector,
  ObservedLock,
  ObservedLockDetail,
  SourceStatus,
} from "@holdfast/collectors";
import {
  listsLocks,
  shownName,
  slowHolds,
  textMatcher,
  usualLongHoldMs,
} from "@holdfast/collectors/internal";
import { BackendError } from "@holdfast/core";
import { severityOrder } from "./words.js";

/** How long a command waits for a backend that does not answer. */
const reachMs = 8_000;
/** A list that is not complete after this time is shown as it is, with a note that says so. */
const completeMs = 60_000;
const lookEveryMs = 20;
/**
 * The time between two looks at why there is no contact. Redis also reports the moment before its first connection as
 * an outage.
 */
const askEveryMs = 1_000;
/** At most this many waiters of a queue are read. */
export const maxWaiters = 200;
const atOnce = 8;

/** The sources that the list of locks comes from. */
export function listSources(collector: LockCollector): readonly SourceStatus[] {
  return collector.sources().filter(({ source, state }) => listsLocks(source) && state !== "off");
}

/**
 * Waits until everything has been read once. Returns sentences that say what is missing in the list, if anything is.
 * Rejects with `BackendError` if the backend is not reached or refuses, and with the reason of `signal` if that aborts.
 */
export async function wholeList(
  collector: LockCollector,
  address: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const beganMs = performance.now();
  let nextAskMs = beganMs + askEveryMs;
  for (;;) {
    const nowMs = performance.now();
    const sources = listSources(collector);
    const those = (...states: SourceStatus["state"][]): SourceStatus[] =>
      sources.filter(({ state }) => states.includes(state));
    const [down] = those("down");
    const [denied] = those("denied");
    if (denied !== undefined && those("denied").length === sources.length)
      throw failure(collector, `${address} refuses: ${denied.message ?? "the right to read is missing"}`);
    if (down === undefined && those("starting", "syncing", "stale").length === 0)
      return sources.flatMap(lacking);
    if (down !== undefined && nowMs >= nextAskMs) {
      nextAskMs = nowMs + askEveryMs;
      const why = await whyDown(collector, down);
      if (why !== null) throw failure(collector, `${address} is not reached: ${why}`);
    }
    const heard = sources.some(({ state, lastSuccessMs }) => lastSuccessMs !== null || state === "syncing");
    if (!heard && nowMs - beganMs >= reachMs)
      throw failure(collector, `${address} is not reached: no answer within ${reachMs / 1_000} s`);
    if (nowMs - beganMs >= completeMs) return sources.flatMap(lacking);
    await pause(lookEveryMs, undefined, { signal });
  }
}

/**
 * Returns why there is no contact, or `null` while the collector is connecting, which may take a moment. The Redis
 * collector reports every outage in the same words, so the reason is taken from what its servers say.
 */
async function whyDown(collector: LockCollector, { message }: SourceStatus): Promise<string | null> {
  if (message !== null && !message.includes("connecting again"))
    return message.replace("; it is tried again and again", "");
  if (collector.backend === "zookeeper") return null;
  const facts = (await collector.servers().catch(() => [])).flatMap((server) => server.facts);
  const why = facts.find(({ name }) => name === "not reachable")?.value;
  return why === undefined || why === "no answer" ? null : why;
}

function failure({ backend }: LockCollector, message: string): BackendError {
  return new BackendError(message, { backend, servers: [] });
}

function lacking({ source, state, coverage, message }: SourceStatus): string[] {
  if (state === "ok") return [];
  const seen = coverage > 0 && coverage < 1 ? ` (${Math.floor(coverage * 100)} % seen)` : "";
  return [`the list is not complete: ${source} is ${state}${seen}${message === null ? "" : `: ${message}`}`];
}

/**
 * Reads each of these locks. A lock that is gone meanwhile is left out. A lock that cannot be read is returned as it
 * was in memory.
 */
export async function readAll(
  collector: LockCollector,
  rows: readonly ObservedLock[],
): Promise<ObservedLockDetail[]> {
  const read: (ObservedLockDetail | null)[] = rows.map(() => null);
  const queue = rows.entries();
  const work = async (): Promise<void> => {
    for (const [at, row] of queue) {
      const fromMemory = { ...row, waiters: [], raw: [], explain: [] };
      read[at] = await collector.detail(row.key, { maxWaiters }).catch(() => fromMemory);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return read.filter((each) => each !== null);
}

/** All findings, grouped by the object that they are about. In each group the worst is first. */
export function findingsByObject(collector: LockCollector): ReadonlyMap<string | null, readonly Finding[]> {
  const found = new Map<string | null, Finding[]>();
  const slow = collector.backend === "redis" ? slowHolds(collector, usualLongHoldMs) : [];
  const worstFirst = [...collector.findings(), ...slow].sort(
    (a, b) => severityOrder[a.severity] - severityOrder[b.severity],
  );
  for (const finding of worstFirst)
    found.set(finding.object, [...(found.get(finding.object) ?? []), finding]);
  return found;
}

/**
 * Matches a part of a name, or the whole name if the pattern is a glob. Names may also match in the form in which they
 * are shown.
 */
export function matcherOf(pattern = ""): (key: string) => boolean {
  const fits = textMatcher(pattern);
  return (key) => fits(key) || fits(shownName(key));
}
