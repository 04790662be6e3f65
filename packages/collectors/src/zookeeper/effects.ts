import type { Recognised } from "@holdfast/core";

/** The client that an action is about: its name for people, and the library that has made its node. */
export interface Concerned {
  readonly who: string;
  readonly recognisedAs: Recognised;
}

/** Said of a holder or waiter whose name Curator and holdfast without `identity` make alike. */
const alike =
  "The names of its nodes are those of Curator and of holdfast without `identity` alike: if it is of holdfast,";

/** The effect of the deletion of a holder's node, depending on the library that made the node. */
export function forceEffect({ who, recognisedAs }: Concerned): string {
  const effects: Readonly<Record<Recognised, string>> = {
    holdfast: `Holder ${who}, of holdfast, is notified: its handle is lost with the reason "stolen".`,
    curator: `Holder ${who}, of Curator, is NOT notified: it goes on as the holder, takes the lock again from within, and its release throws nothing. Until it is stopped there are two holders. ${alike} it is notified, with the reason "stolen".`,
    kazoo: `Holder ${who}, of kazoo, is NOT notified: is_acquired stays true and release() returns true. Until it is stopped there are two holders.`,
    redisson: `Holder ${who} is NOT notified.`,
    unknown: `Holder ${who}, of an unknown library, must be taken as one that is NOT notified. Until it is stopped there may be two holders.`,
  };
  return effects[recognisedAs];
}

export function nextEffect(next: Concerned | undefined): string {
  return next === undefined
    ? "No waiters: the lock is free afterwards."
    : `The next waiter, ${next.who}, is granted the lock within moments.`;
}

/** The effect of the deletion of a waiter's node. */
export function evictEffect({ who, recognisedAs }: Concerned): string {
  const effects: Readonly<Record<Recognised, string>> = {
    holdfast: `Waiter ${who}, of holdfast, gives up with EvictedError (HF_EVICTED).`,
    curator: `Waiter ${who}, of Curator, is NOT evicted: it makes its node anew at the tail and still acquires. ${alike} it gives up with EvictedError.`,
    kazoo: `Waiter ${who}, of kazoo, is NOT evicted: once it wakes it makes its node anew at the tail and still acquires.`,
    redisson: `Waiter ${who} may stand again at the tail.`,
    unknown: `Waiter ${who}, of an unknown library, may fail or stand again at the tail.`,
  };
  return effects[recognisedAs];
}

/** `null`: the library of this holder has no such request. */
export function revokeEffect({ who, recognisedAs }: Concerned): string | null {
  if (recognisedAs === "kazoo" || recognisedAs === "redisson") return null;
  const effects: Readonly<Record<"holdfast" | "curator" | "unknown", string>> = {
    holdfast: `Holder ${who}, of holdfast, is asked to release; it hears only if it was acquired with \`revocable: true\`.`,
    curator: `Holder ${who}, of Curator, is asked to release; it hears only if it called makeRevocable. ${alike} only if it was acquired with \`revocable: true\`.`,
    unknown: `Holder ${who}, of an unknown library, gets Curator's marker; whether it hears is not known.`,
  };
  return `${effects[recognisedAs]} The data of its node is overwritten in any case.`;
}

export function electionEffect(): string {
  return "It is a candidate of an election: its label is overwritten, and the others see the marker as its id.";
}

export const orphanEffects: readonly string[] = [
  "The empty parent is deleted, unless a client uses it meanwhile: then nothing is done.",
  "Curator and holdfast make it anew when they need it. A kazoo Lock object that was used before does not: its next acquire fails with NoNodeError.",
];
