/** Base name of Curator's `InterProcessMutex` nodes, and of those of `LeaderSelector`, which is such a mutex. */
export const mutexBase = "lock-";
/** Base names of `InterProcessReadWriteLock`: readers and writers share one queue. */
export const readBase = "__READ__";
export const writeBase = "__WRIT__";
/** Base name of `LeaderLatch` nodes. */
export const latchBase = "latch-";
/** Base name of the permits of `InterProcessSemaphoreV2`. */
export const leaseBase = "lease-";

/** From this number on a lock reports its counter. The server's counter stops at 2^31 - 1, and then several contenders hold. */
export const sequenceWarnFrom = 1_000_000_000;

/** From this number on no contender of this library may queue. */
export const sequenceRefuseFrom = 2_000_000_000;

/**
 * The text by which Curator orders a child: what follows the last occurrence of the base name, or the whole name if it
 * has no base name (`LockInternals.standardFixForSorting`). It is compared as text, never as a number. Several bases are
 * cut one after the other, as `InterProcessReadWriteLock` does for readers and then for writers.
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
 * All children in the order in which Curator grants them, foreign ones included. All clients must agree on one order, so
 * no child is filtered out, and children with equal keys stay as the server listed them.
 */
export function inQueueOrder(children: readonly string[], ...bases: readonly string[]): string[] {
  const keyed = children.map((name) => ({ name, key: sortKey(name, ...bases) }));
  keyed.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  return keyed.map((entry) => entry.name);
}

/** The number that the server appended, or `null` for a name without one. Negative after the counter has wrapped. */
export function sequenceOf(name: string, ...bases: readonly string[]): number | null {
  const key = sortKey(name, ...bases);
  return /^(\d{10}|-\d{9,10})$/.test(key) ? Number(key) : null;
}

/** Whether the server numbered this node for a queue with these base names, whichever client made it. */
export function isContender(name: string, ...bases: readonly string[]): boolean {
  return bases.some((base) => name.includes(base)) && sequenceOf(name, ...bases) !== null;
}

/**
 * Names in Curator's protection mode: `_c_<uuid>-<base><sequence>`. The UUID lets a client find the node that it made
 * when the answer to its create was lost (`CreateBuilder.withProtection`, `ProtectedUtils`).
 */
const protectedPattern = /^_c_([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})-(.+)$/;

export interface ProtectedName {
  readonly guid: string;
  /** The part behind the protection: base name and sequence. */
  readonly rest: string;
}

/** The index of a UUID's variant: the first digit of its fourth group, which is 8 to b in random UUIDs. */
const variantAt = 19;

/**
 * The UUID of a node that its provider may keep for its next owner. The digit `e` in place of the variant is the mark. It
 * costs no write, and for Curator the UUID is any text.
 */
export function keepableGuid(guid: string): string {
  return `${guid.slice(0, variantAt)}e${guid.slice(variantAt + 1)}`;
}

/** Whether the node's provider may keep the lock for its next owner, so that at present perhaps no owner has it. */
export function mayBeKept(name: string): boolean {
  return parseProtectedName(name)?.guid.charAt(variantAt) === "e";
}

/** The beginning of the name of every node that one attempt makes. */
export function protectionPrefix(guid: string): string {
  return `_c_${guid}-`;
}

export function parseProtectedName(name: string): ProtectedName | null {
  const match = protectedPattern.exec(name);
  return match === null ? null : { guid: match[1] as string, rest: match[2] as string };
}
