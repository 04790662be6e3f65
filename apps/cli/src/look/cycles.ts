import type { ObservedLockDetail } from "@holdfast/collectors";
import { cyclesOf, edgesOf, processNode, type WaitCycle, type WaitEdge } from "@holdfast/collectors/internal";

/** The command looks at one. */
const cluster = "";

/**
 * Circles of waits among these locks. A process that waits for itself alone counts as none, unless its owners are threads: which of its tasks
 * holds and which waits is not known.
 */
export function circlesAmong(locks: readonly ObservedLockDetail[]): readonly WaitCycle[] {
  const cycles = cyclesOf(edgesOf(locks.map((lock) => ({ cluster, lock }))));
  return cycles.filter(({ certainty, ring }) => certainty === "certain" || !ring.every(withinOneProcess));
}

/** The circles that still stand after their locks were read once more: the reads of the first look were not of one moment. */
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
