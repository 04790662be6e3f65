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

/** A backend that does not answer for so long is not waited for. */
const reachMs = 8_000;
/** A list that is not complete after that is shown as it is, and says so. */
const completeMs = 60_000;
const lookEveryMs = 20;
/** Between two looks at why there is no contact. Redis reports the moment before its first connection as an outage, too. */
const askEveryMs = 1_000;
/** So many of a queue are read. */
export const maxWaiters = 200;
const atOnce = 8;

/** The sources that the list of locks comes from. */
export function listSources(collector: LockCollector): readonly SourceStatus[] {
  return collector.sources().filter(({ source, state }) => listsLocks(source) && state !== "off");
}

/**
 * Waits until everything has been read once. The result says in sentences what is missing in the list, where something is. Rejects with
 * `BackendError` where the backend is not reached or refuses, and with the reason of `signal`.
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

/** `null`: it is connecting, which may take a moment. The collector of Redis calls every outage the same; what its servers say is why. */
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

/** Each of these locks as it is now; those that went meanwhile are left out, and one that cannot be read is as it was in memory. */
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

/** The worst first; by what they are about. */
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

/** Part of a name, or a glob for the whole of it. Names as they are shown fit, too. */
export function matcherOf(pattern = ""): (key: string) => boolean {
  const fits = textMatcher(pattern);
  return (key) => fits(key) || fits(shownName(key));
}
