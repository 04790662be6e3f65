import type { ClusterRow, LockDetail, LockRow } from "../../../src/contract/api.js";
import { waitersOf } from "./words.js";

// Texts that say why a part of a page is empty. "Nothing was found" and "nothing could be read" are never the same
// sentence.

/** Shown in place of the holders. */
export function whyNoHolders({ lock, raw, fromMemory }: LockDetail): string {
  if (lock.denied !== null) return "Who holds it cannot be read.";
  // The backend does not keep who has taken permits, so a remembered lock has no holders of them.
  const nameless = lock.backend === "redis" && lock.kind === "semaphore";
  if (fromMemory && (nameless || lock.holderCount > 0))
    return "Its backend cannot be read now. Who held it at the last reading is not known.";
  if (fromMemory) return "Its backend cannot be read now. When it could be read last, it was not held.";
  if (!nameless) return "Not held.";
  const free = raw.find(({ name }) => name === "permits free")?.value ?? "An unknown number of";
  return `${free} ${free === "1" ? "permit is" : "permits are"} free. Who has taken others, and how many, is not in the backend.`;
}

/** Shown in place of the queue. */
export function whyNoWaiters({ lock, fromMemory }: LockDetail): string {
  if (fromMemory) {
    const before =
      lock.waiterUnit === "hidden" ? "" : ` At the last reading: ${waitersOf(lock).why.replace(/\.$/, "")}.`;
    return `Its backend cannot be read now, so who waits is not known.${before}`;
  }
  if (lock.waiterUnit === "hidden") return "Waiters of this kind of lock cannot be seen from outside.";
  if (lock.waiterUnit === "connections" && lock.waiterCount > 0)
    return `${waitersOf(lock).why} Who they are, and in which order, is not in the backend.`;
  if (lock.denied !== null) return "Who waits cannot be read.";
  return lock.waiterCount > 0 ? `${waitersOf(lock).why}. Who they are could not be read.` : "No waiters.";
}

/** Shown in place of the effects of an action that is not offered. */
export function whyNoEffects({ fromMemory }: Pick<LockDetail, "fromMemory">): string {
  return fromMemory
    ? "Its backend cannot be read now, so what this would do is not known."
    : "Nothing: the holder or waiter it was about is no longer there.";
}

/** Shown in place of the longest wait. `hidden`: waiters cannot be seen. */
export function noWaitWord(waiters: number, hidden = false): string {
  if (hidden) return "hidden";
  return waiters > 0 ? "unknown" : "none";
}

/** Shown in place of the holder in a row of the list. `stale`: its backend cannot be read now. */
export function noHolderWord({ denied, state }: LockRow, stale: boolean): string {
  if (denied !== null) return "not readable";
  if (stale) return "not known now";
  // Permits that are taken do not show which client has them.
  return state === "idle" ? "none" : "not known";
}

/** Shown in place of the rows of the audit. `more`: older pages have rows. `older`: this is not the first page. */
export function nothingListed(more: boolean, older: boolean): string {
  if (more) return "None on this page; older ones may be on the next";
  return older ? "Nothing older" : "No actions yet";
}

/** The names of the clusters of which not everything is known now. That nothing was found in them proves nothing. */
export function notKnownNow(clusters: readonly ClusterRow[]): string[] {
  return clusters.filter(({ state }) => state !== "ok").map(({ name, state }) => `${name} is ${state}`);
}
