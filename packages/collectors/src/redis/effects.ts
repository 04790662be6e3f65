import type { ObservedLock } from "../observe/observed-lock.js";
import { libraryOf, ownerIn } from "./owner-words.js";

/** Turns an owner, as the backend has it, into a name for people. */
type WhoIs = (owner: string) => string;

/** What a forced release does to each holder and to the waiters. */
export function effectsOfForce(
  lock: ObservedLock,
  holders: readonly string[],
  whoIs: WhoIs,
): readonly string[] {
  const effects: string[] = [];
  for (const field of holders) {
    const owner = ownerIn(field);
    const who = whoIs(owner);
    switch (libraryOf(owner)) {
      case "holdfast":
        effects.push(
          `Holder ${who}, of holdfast, is notified: its handle is lost with the reason "stolen". What it has begun goes on until its code looks; a fenced resource refuses it once the next holder has written.`,
        );
        break;
      case "redisson":
        effects.push(
          `Holder ${who}, of Redisson, is NOT notified: it goes on as if it held the lock until its unlock() throws IllegalMonitorStateException, so there can be two holders meanwhile.`,
        );
        break;
      default:
        effects.push(`Holder ${who}, of an unknown library, is NOT notified: there can be two holders.`);
    }
  }
  effects.push(...effectsOnWaiters(lock));
  if (lock.kind === "read-write-lock" && holders.length > 1)
    effects.push(`All ${holders.length} readers lose the lock, whichever of them was meant.`);
  return effects;
}

function effectsOnWaiters(lock: ObservedLock): readonly string[] {
  if (lock.waiterCount === 0)
    return ["No waiters are seen; waiters of Redisson, if any, get the message that wakes them."];
  switch (lock.kind) {
    case "fair-mutex":
      return ["The first in the queue is woken on its own channel and gets the lock."];
    case "leader-election":
      return ["The first candidate is woken and leads."];
    case "read-write-lock":
      return [
        "Waiters of Redisson get the message that wakes them; the first waiting writer of holdfast is woken.",
      ];
    default:
      return [
        "Waiters of Redisson get the message that wakes them, the first waiter of holdfast is woken; the first that asks gets the lock.",
      ];
  }
}

export function effectsOfPermit(id: string): readonly string[] {
  return [
    `The permit ${id} goes back to the pool and can be taken by another client.`,
    "Permits have no owner in the backend, so the holder is NOT notified: Redisson's release(id) throws IllegalArgumentException, a handle of holdfast is lost at its next renewal.",
    "Waiters get the message that wakes them.",
  ];
}

export function effectsOfRevoke(holders: readonly string[], whoIs: WhoIs): readonly string[] {
  return holders.map((field) => {
    const owner = ownerIn(field);
    const who = whoIs(owner);
    return libraryOf(owner) === "holdfast"
      ? `Holder ${who}, of holdfast, hears "revokeRequested" if it took the lock with revocable: true, and decides for itself; else nothing happens.`
      : `Holder ${who}, of Redisson, has no such request and hears nothing.`;
  });
}

export function effectsOfEviction(owner: string, whoIs: WhoIs): readonly string[] {
  const who = whoIs(owner);
  return libraryOf(owner) === "holdfast"
    ? [
        `Waiter ${who}, of holdfast, loses its place and stands again at the tail with its next heartbeat (event "requeued").`,
      ]
    : [
        `Waiter ${who}, of Redisson, loses its place in the fair queue. If it is alive it stands again at the tail with its next attempt; it is not notified.`,
      ];
}

export function effectsOfCleaning(owners: readonly string[], whoIs: WhoIs): readonly string[] {
  if (owners.length === 0) return ["No entry of the queue is dead."];
  const more = owners.length > 20 ? ` and ${owners.length - 20} more` : "";
  return [
    `Dead entries are taken out of the queue: ${owners.slice(0, 20).map(whoIs).join(", ")}${more}.`,
    "One that is alive after all stands again at the tail with its next attempt. If the lock is free, the first that is left is woken.",
  ];
}
