import type { Recognised } from "@holdfast/core";
import type { TreeParticipant } from "@holdfast/zk-recipes/internal";

/** A name that Curator and holdfast without `identity` make alike. */
const alike =
  "Its name is one that Curator and holdfast without `identity` make alike: if it is of holdfast,";

/** What it does to a holder that its node is deleted, for the library that made it. */
export function forceEffect({ name, recognisedAs }: TreeParticipant): string {
  const told: Readonly<Record<Recognised, string>> = {
    holdfast: `Holder ${name} (holdfast) is told: its handle is lost with the reason "stolen".`,
    curator: `Holder ${name} (Curator) will NOT be told: it goes on as the holder, takes the lock again from within, and its release throws nothing. Until it is stopped there are two holders. ${alike} it is told, with the reason "stolen".`,
    kazoo: `Holder ${name} (kazoo) will NOT be told: is_acquired stays true and release() returns true. Until it is stopped there are two holders.`,
    redisson: `Holder ${name} will NOT be told.`,
    unknown: `Holder ${name}, of an unknown library, must be taken as one that will NOT be told. Until it is stopped there may be two holders.`,
  };
  return told[recognisedAs];
}

export function nextEffect(next: TreeParticipant | undefined): string {
  return next === undefined
    ? "Nobody waits: the lock is free afterwards."
    : `The next, ${next.name}, is granted within moments.`;
}

/** What it does to a waiter that its node is deleted. */
export function evictEffect({ name, recognisedAs }: TreeParticipant): string {
  const told: Readonly<Record<Recognised, string>> = {
    holdfast: `Waiter ${name} (holdfast) gives up with EvictedError (HF_EVICTED).`,
    curator: `Waiter ${name} (Curator) is NOT evicted: it makes its node anew at the tail and still acquires. ${alike} it gives up with EvictedError.`,
    kazoo: `Waiter ${name} (kazoo) is NOT evicted: once it wakes it makes its node anew at the tail and still acquires.`,
    redisson: `Waiter ${name} may stand again at the tail.`,
    unknown: `Waiter ${name}, of an unknown library, may fail or stand again at the tail.`,
  };
  return told[recognisedAs];
}

/** `null`: no holder would hear. */
export function revokeEffect({ name, recognisedAs }: TreeParticipant): string | null {
  if (recognisedAs === "kazoo" || recognisedAs === "redisson") return null;
  const told: Readonly<Record<"holdfast" | "curator" | "unknown", string>> = {
    holdfast: `Holder ${name} (holdfast) is asked to let go; it hears only if it was acquired with \`revocable: true\`.`,
    curator: `Holder ${name} (Curator) is asked to let go; it hears only if it called makeRevocable. ${alike} only if it was acquired with \`revocable: true\`.`,
    unknown: `Holder ${name}, of an unknown library, gets Curator's marker; whether it hears is not known.`,
  };
  return `${told[recognisedAs]} The data of its node is overwritten in any case.`;
}

export function electionEffect(): string {
  return "It is a candidate of an election: its label is overwritten, and the others see the marker as its id.";
}

export const orphanEffects: readonly string[] = [
  "The empty parent is deleted, unless somebody comes meanwhile: then nothing is done.",
  "Curator and holdfast make it anew when they need it. A kazoo Lock object that was used before does not: its next acquire fails with NoNodeError.",
];
