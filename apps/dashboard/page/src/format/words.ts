import type { LockRow, Participant } from "../../../src/contract/api.js";
import { count, many } from "./number.js";

/** `fair-mutex` becomes `fair mutex`. */
export const plain = (word: string): string => word.replaceAll("-", " ");

export const sentence = (word: string): string => {
  const text = plain(word);
  return text.charAt(0).toUpperCase() + text.slice(1);
};

const findingTitles: Record<string, string> = {
  "not-renewing": "Lease not renewed",
  "no-lease": "Held without a lease",
  "orphan-parent": "Empty lock node left over",
  "queue-without-holder": "Waiters without a holder",
  "foreign-child": "Foreign node in a lock",
  "mixed-kinds": "One name, several kinds of lock",
  "sequence-high": "Sequence numbers run out",
  "old-downgrade-possible": "Downgraded read lock of old Curator",
  "token-regressed": "Fencing token went backwards",
  "eviction-policy": "Unsafe eviction policy",
  "unauthenticated-admin": "AdminServer is open",
  "clock-skew": "Clocks differ",
};

/** The title of a finding; `deadlock-suspected` becomes `Deadlock suspected`. */
export const findingTitle = (kind: string): string => findingTitles[kind] ?? sentence(kind);

/** The kind of a lock, or that it is unknown. */
export const kindOf = (lock: Pick<LockRow, "kind">): string =>
  lock.kind === null ? "unknown kind" : plain(lock.kind);

const libraryNames: Record<string, string> = {
  holdfast: "holdfast",
  curator: "Curator",
  "curator-or-holdfast": "Curator or holdfast",
  kazoo: "kazoo",
  redisson: "Redisson",
  unknown: "unknown library",
};
export const libraryOf = (name: string): string => libraryNames[name] ?? name;

/** How many wait, in the only unit that can be seen. */
export function waitersOf(lock: Pick<LockRow, "waiterCount" | "waiterUnit">): { text: string; why: string } {
  if (lock.waiterUnit === "hidden") {
    return { text: "hidden", why: "Waiters of this kind of lock cannot be seen from outside." };
  }
  if (lock.waiterUnit === "connections" && lock.waiterCount > 0) {
    return {
      text: `at least ${count(lock.waiterCount)}`,
      why: `${many(lock.waiterCount, "connection")} subscribed to its channel; each is one waiter or more.`,
    };
  }
  return { text: count(lock.waiterCount), why: many(lock.waiterCount, "waiter") };
}

export const leaseWords: Record<Participant["lease"], { text: string; why: string; bad: boolean }> = {
  session: { text: "session", why: "Held as long as the session lives.", bad: false },
  renewing: { text: "renewing", why: "Its lease is renewed in time.", bad: false },
  fixed: { text: "fixed lease", why: "A lease that is not renewed: it ends by itself.", bad: false },
  "not-renewing": {
    text: "not renewing",
    why: "Its lease was renewed before, and is overdue now.",
    bad: true,
  },
  "never-expires": {
    text: "no lease",
    why: "It has no TTL: if its holder dies, it stays held.",
    bad: true,
  },
  unknown: { text: "unknown", why: "The backend does not tell how this hold lives on.", bad: false },
};
