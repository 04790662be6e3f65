/** Base name of Curator's `InterProcessMutex` nodes. */
export const mutexBase = "lock-";

/** From here on a lock reports its counter; the server's saturates at 2^31 - 1 and then several contenders hold. */
export const sequenceWarnFrom = 1_000_000_000;

/** From here on nobody may queue. */
export const sequenceRefuseFrom = 2_000_000_000;

/**
 * The text that Curator orders a child by: what follows the last occurrence of the base name, or the whole name
 * where that does not occur (`LockInternals.standardFixForSorting`). Text, never a number.
 */
export function sortKey(name: string, base: string): string {
  const at = name.lastIndexOf(base);
  return at < 0 ? name : name.slice(at + base.length);
}

/**
 * All children in the order in which Curator grants them, foreign ones included: peers must agree on one order, so
 * nothing is filtered and ties stay as the server listed them.
 */
export function inQueueOrder(children: readonly string[], base: string): string[] {
  const keyed = children.map((name) => ({ name, key: sortKey(name, base) }));
  keyed.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  return keyed.map((entry) => entry.name);
}

/** The number that the server appended, or `null` for a name without one. Negative once the counter has wrapped. */
export function sequenceOf(name: string, base: string): number | null {
  const key = sortKey(name, base);
  return /^(\d{10}|-\d{9,10})$/.test(key) ? Number(key) : null;
}

/** Whether the server numbered this node for a queue of `base`, whoever made it. */
export function isContender(name: string, base: string): boolean {
  return name.includes(base) && sequenceOf(name, base) !== null;
}
