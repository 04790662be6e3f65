import type { ObservedLock } from "../observe/observed-lock.js";
import { libraryOf, ownerIn } from "./owner-words.js";

/** What a forced release does to each who is concerned. */
export function effectsOfForce(lock: ObservedLock, holders: readonly string[]): readonly string[] {
  const effects: string[] = [];
  for (const field of holders) {
    const owner = ownerIn(field);
    switch (libraryOf(owner)) {
      case "holdfast":
        effects.push(
          `${owner} (holdfast) is told: its handle is lost with the reason "stolen". What it has begun goes on until its code looks; a fenced resource refuses it once the next holder has written.`,
        );
        break;
      case "redisson":
        effects.push(
          `${owner} (Redisson) will NOT be told: it goes on as if it held the lock until its unlock() throws IllegalMonitorStateException, so there can be two holders meanwhile.`,
        );
        break;
      default:
        effects.push(`${owner} is of no known library and is not told: there can be two holders.`);
    }
  }
  effects.push(...effectsOnWaiters(lock));
  if (lock.kind === "read-write-lock" && holders.length > 1)
    effects.push(`All ${holders.length} readers lose the lock, whichever of them was meant.`);
  return effects;
}

function effectsOnWaiters(lock: ObservedLock): readonly string[] {
  if (lock.waiterCount === 0)
    return ["Nobody is seen waiting; waiters of Redisson, if any, get the message that wakes them."];
  switch (lock.kind) {
    case "fair-mutex":
      return ["The first in the queue is told on its own channel and gets the lock."];
    case "leader-election":
      return ["The first candidate is told and leads."];
    case "read-write-lock":
      return [
        "Waiters of Redisson get the message that wakes them; the first waiting writer of holdfast is told.",
      ];
    default:
      return [
        "Waiters of Redisson get the message that wakes them, the first waiter of holdfast is told; whoever asks first gets the lock.",
      ];
  }
}

export function effectsOfPermit(id: string): readonly string[] {
  return [
    `The permit ${id} goes back to the pool and can be taken by another.`,
    "Permits do not say whose they are, so its holder is NOT told: Redisson's release(id) throws IllegalArgumentException, a handle of holdfast is lost at its next renewal.",
    "Waiters get the message that wakes them.",
  ];
}

export function effectsOfRevoke(holders: readonly string[]): readonly string[] {
  return holders.map((field) => {
    const owner = ownerIn(field);
    return libraryOf(owner) === "holdfast"
      ? `${owner} (holdfast) hears "revokeRequested" if it took the lock with revocable: true, and decides for itself; else nothing happens.`
      : `${owner} (Redisson) has no such request and hears nothing.`;
  });
}

export function effectsOfEviction(owner: string): readonly string[] {
  return libraryOf(owner) === "holdfast"
    ? [
        `${owner} (holdfast) loses its place and stands again at the tail with its next heartbeat (event "requeued").`,
      ]
    : [
        `${owner} (Redisson) loses its place in the fair queue. If it is alive it stands again at the tail with its next attempt; it is not told.`,
      ];
}

export function effectsOfCleaning(owners: readonly string[]): readonly string[] {
  if (owners.length === 0) return ["No entry of the queue is dead."];
  return [
    `Dead entries are taken out of the queue: ${owners.slice(0, 20).join(", ")}${owners.length > 20 ? ` and ${owners.length - 20} more` : ""}.`,
    "One that is alive after all stands again at the tail with its next attempt. If the lock is free, the first that is left is told.",
  ];
}
