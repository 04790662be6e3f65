/** Base name of Curator's `InterProcessMutex` nodes, and of `LeaderSelector`, which is one. */
export const mutexBase = "lock-";
/** Base names of `InterProcessReadWriteLock`: readers and writers share one queue. */
export const readBase = "__READ__";
export const writeBase = "__WRIT__";
/** Base name of `LeaderLatch` nodes. */
export const latchBase = "latch-";
/** Base name of the permits of `InterProcessSemaphoreV2`. */
export const leaseBase = "lease-";

/** From here on a lock reports its counter; the server's saturates at 2^31 - 1 and then several contenders hold. */
export const sequenceWarnFrom = 1_000_000_000;

/** From here on nobody may queue. */
export const sequenceRefuseFrom = 2_000_000_000;

/**
 * The text that Curator orders a child by: what follows the last occurrence of the base name, or the whole name
 * where that does not occur (`LockInternals.standardFixForSorting`). Text, never a number. Several bases are cut one
 * after the other, as `InterProcessReadWriteLock` does for readers and then for writers.
 */
export function sortKey(name: string, ...bases: readonly string[]): string {
  let key = name;
  for (const base of bases) {
    const at = key.lastIndexOf(base);
    if (at >= 0) key = key.slice(at + base.length);
  }
  return key;
}

/**
 * All children in the order in which Curator grants them, foreign ones included: peers must agree on one order, so
 * nothing is filtered and ties stay as the server listed them.
 */
export function inQueueOrder(children: readonly string[], ...bases: readonly string[]): string[] {
  const keyed = children.map((name) => ({ name, key: sortKey(name, ...bases) }));
  keyed.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  return keyed.map((entry) => entry.name);
}

/** The number that the server appended, or `null` for a name without one. Negative once the counter has wrapped. */
export function sequenceOf(name: string, ...bases: readonly string[]): number | null {
  const key = sortKey(name, ...bases);
  return /^(\d{10}|-\d{9,10})$/.test(key) ? Number(key) : null;
}

/** Whether the server numbered this node for a queue of these base names, whoever made it. */
export function isContender(name: string, ...bases: readonly string[]): boolean {
  return bases.some((base) => name.includes(base)) && sequenceOf(name, ...bases) !== null;
}
