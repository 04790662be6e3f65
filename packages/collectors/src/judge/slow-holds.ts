import type { Millis } from "@holdfast/core";
import { fewOfAKind, mostOfAKind } from "../kit/few-of-a-kind.js";
import type { Found } from "../kit/finding-times.js";
import type { Finding, FindingKind, LockCollector } from "../observe/collector.js";
import type { Moment, ObservedLock } from "../observe/observed-lock.js";
import { roughly } from "./durations.js";
import { whoIs } from "./who-is.js";

/** The default age from which a hold counts as long. */
export const usualLongHoldMs: Millis = 300_000;

/** The parts of a lock that decide whether its hold is long and what the finding says. */
export type HeldLock = Pick<
  ObservedLock,
  "key" | "kind" | "holders" | "holderCount" | "waiterCount" | "waiterUnit" | "oldestHold" | "oldestWait"
>;

/**
 * The finding that a lock has been held for `longHoldMs` or longer, on either backend; `null` for a younger hold and for a
 * hold of unknown age. The finding is critical where other clients wait for the lock, otherwise only a hint. The leader of
 * an election is left out, because it leads for as long as it lives.
 */
export function slowHold(lock: HeldLock, longHoldMs: Millis, nowMs: Millis): Found | null {
  const { key, oldestHold, waiterCount } = lock;
  if (!isSlow(lock, longHoldMs, nowMs)) return null;
  const kind = kindOfLong(waiterCount);
  const stuck = kind === "stuck-with-waiters";
  return {
    id: `${kind} ${key}`,
    kind,
    severity: stuck ? "critical" : "info",
    object: key,
    sinceMs: (oldestHold.atMs ?? nowMs) + longHoldMs,
    evidence: `Held ${forLong(oldestHold, nowMs)}${byWhom(lock)}; ${waiting(lock, nowMs)}.`,
    advice: stuck
      ? "Check what the holder is doing; ask it to release the lock before you force anything."
      : "Nothing to do if the work takes this long; mute the finding then.",
  };
}

/**
 * The `slowHold` findings of all locks of the Redis collector, which leaves them to its user; the ZooKeeper collector has
 * them among its own findings. The age of a hold counts up to the reading of its lock, so that no hold becomes long while
 * there is no contact.
 */
export function slowHolds(collector: Pick<LockCollector, "figures" | "get">, longHoldMs: Millis): Finding[] {
  const findings: Finding[] = [];
  const counts = new Map<FindingKind, number>();
  for (const figures of collector.figures()) {
    if (!isSlow(figures, longHoldMs, figures.readMs)) continue;
    // Each kind has a count of its own: locks that are held for days without waiters must not hide a lock with waiters.
    const kind = kindOfLong(figures.waiterCount);
    const count = (counts.get(kind) ?? 0) + 1;
    counts.set(kind, count);
    if (count > mostOfAKind) continue;
    const lock = collector.get(figures.key);
    if (lock === undefined) continue;
    const found = slowHold(lock, longHoldMs, lock.readMs);
    if (found !== null) findings.push({ ...found, sinceMs: found.sinceMs ?? lock.readMs });
  }
  return fewOfAKind(findings, counts);
}

/** The kind of finding for a long hold, by its number of waiters. */
export function kindOfLong(waiters: number): "stuck-with-waiters" | "long-hold" {
  return waiters > 0 ? "stuck-with-waiters" : "long-hold";
}

/** Whether a lock has been held for `longHoldMs` or longer, by its figures alone. */
export function isSlow(
  { kind, holderCount, oldestHold: { atMs } }: Pick<HeldLock, "kind" | "holderCount" | "oldestHold">,
  longHoldMs: Millis,
  nowMs: Millis,
): boolean {
  return kind !== "leader-election" && holderCount > 0 && atMs !== null && nowMs - atMs >= longHoldMs;
}

function forLong({ atMs, provenance }: Moment, nowMs: Millis): string {
  return `for ${provenance === "exact" ? "" : "at least "}${roughly(nowMs - (atMs ?? nowMs))}`;
}

/** Names the longest holder, and says how many others hold with it. Empty where only the number of holders is known. */
function byWhom({ holders, holderCount, oldestHold }: HeldLock): string {
  const one = holders.find(({ since }) => since.atMs === oldestHold.atMs) ?? holders[0];
  if (one === undefined) return "";
  const others = holderCount - 1;
  return ` by ${whoIs(one)}${others > 0 ? ` and ${others} ${others === 1 ? "other" : "others"}` : ""}`;
}

function waiting({ waiterCount, waiterUnit, oldestWait }: HeldLock, nowMs: Millis): string {
  if (waiterUnit === "hidden") return "waiters cannot be seen";
  if (waiterCount === 0) return "no waiters";
  const count = `${waiterUnit === "connections" ? "at least " : ""}${waiterCount} waiting`;
  if (oldestWait.atMs === null) return count;
  const atLeast = oldestWait.provenance === "exact" ? "" : "at least ";
  return `${count}, longest ${atLeast}${roughly(nowMs - oldestWait.atMs)}`;
}
