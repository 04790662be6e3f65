import type { Millis } from "@holdfast/core";
import type { Finding, LockCollector } from "../observe/collector.js";
import type { LockFigures } from "../observe/observed-lock.js";

/** From here on a hold counts as long. */
export const usualLongHoldMs: Millis = 300_000;

/** Of each cluster; beyond that the list of locks, sorted by age, tells more than a thousand findings. */
const mostFindings = 100;

/**
 * Holds that have lasted for long, by what is in memory. A hold of unknown age is none. For locks of Redis: the collector of ZooKeeper has these
 * findings by itself.
 */
export function slowHolds(
  collector: Pick<LockCollector, "figures">,
  longHoldMs: number,
  nowMs: number,
): Finding[] {
  const findings: Finding[] = [];
  for (const lock of collector.figures()) {
    const { atMs } = lock.oldestHold;
    if (atMs === null || lock.holderCount === 0 || nowMs - atMs < longHoldMs) continue;
    if (findings.push(describe(lock, atMs, longHoldMs)) >= mostFindings) break;
  }
  return findings;
}

function describe(lock: LockFigures, atMs: number, longHoldMs: number): Finding {
  const since = `Held since ${new Date(atMs).toISOString()}${lock.oldestHold.provenance === "at-least" ? " or longer" : ""}`;
  if (lock.waiterCount > 0)
    return {
      id: `stuck-with-waiters ${lock.key}`,
      kind: "stuck-with-waiters",
      severity: "critical",
      object: lock.key,
      sinceMs: atMs + longHoldMs,
      evidence: `${since}, and somebody waits.`,
      advice: "Look what the holder does; ask it to give up (request revoke) before anything is forced.",
    };
  return {
    id: `long-hold ${lock.key}`,
    kind: "long-hold",
    severity: "info",
    object: lock.key,
    sinceMs: atMs + longHoldMs,
    evidence: `${since}; nobody is seen waiting.`,
    advice: "Nothing to do if that is its purpose, as with a leader; mute it then.",
  };
}
