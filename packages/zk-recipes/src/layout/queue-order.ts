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

/** From here on no contender of this library may queue. */
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

/** Whether the server numbered this node for a queue of these base names, whichever client made it. */
export function isContender(name: string, ...bases: readonly string[]): boolean {
  return bases.some((base) => name.includes(base)) && sequenceOf(name, ...bases) !== null;
}

/**
 * Names in Curator's protection mode: `_c_<uuid>-<base><sequence>`. The uuid lets a client find the node it made
 * when the answer to its create was lost (`CreateBuilder.withProtection`, `ProtectedUtils`).
 */
const protectedPattern = /^_c_([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})-(.+)$/;

export interface ProtectedName {
  readonly guid: string;
  /** What stands behind the protection: base name and sequence. */
  readonly rest: string;
}

/** Where the variant of a UUID stands: the first digit of its fourth group, which is 8 to b in those that are drawn at random. */
const variantAt = 19;

/**
 * The UUID of a node that its provider may keep for its next owner. The mark is the digit `e` of the variant: it costs no write, and for
 * Curator the UUID is any text.
 */
export function keepableGuid(guid: string): string {
  return `${guid.slice(0, variantAt)}e${guid.slice(variantAt + 1)}`;
}

/** Whether the node's provider may keep the lock for its next owner, so that perhaps no owner has it. */
export function mayBeKept(name: string): boolean {
  return parseProtectedName(name)?.guid.charAt(variantAt) === "e";
}

/** What every node name of one attempt starts with. */
export function protectionPrefix(guid: string): string {
  return `_c_${guid}-`;
}

export function parseProtectedName(name: string): ProtectedName | null {
  const match = protectedPattern.exec(name);
  return match === null ? null : { guid: match[1] as string, rest: match[2] as string };
}
