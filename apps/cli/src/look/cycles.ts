import type { ObservedLockDetail } from "@holdfast/collectors";
import { cyclesOf, edgesOf, processNode, type WaitCycle, type WaitEdge } from "@holdfast/collectors/internal";

/** The command looks at one cluster, which needs no name. */
const cluster = "";

/**
 * Circles of waits among these locks. A circle within one process does not count, unless its owners are threads:
 * otherwise it is not known which task of the process holds and which waits.
 */
export function circlesAmong(locks: readonly ObservedLockDetail[]): readonly WaitCycle[] {
  const cycles = cyclesOf(edgesOf(locks.map((lock) => ({ cluster, lock }))));
  return cycles.filter(({ certainty, ring }) => certainty === "certain" || !ring.every(withinOneProcess));
}

/**
 * Keeps the circles that still exist after their locks were read once more. The reads of the first look happened at
 * different moments, so a circle in them may never have existed.
 */
export function standing(
  cycles: readonly WaitCycle[],
  again: readonly ObservedLockDetail[],
): readonly WaitCycle[] {
  const now = new Set(circlesAmong(again).map(({ signature }) => signature));
  return cycles.filter(({ signature }) => now.has(signature));
}

function withinOneProcess({ from, to }: WaitEdge): boolean {
  return processNode(cluster, from) === processNode(cluster, to);
}
