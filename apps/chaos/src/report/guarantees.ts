import type { CheckerName } from "../checkers/judge.js";

/** The guarantees of a lock, each with the checkers that judge it, in the order of the columns. */
export interface Guarantee {
  readonly name: string;
  readonly meaning: string;
  readonly checkers: readonly CheckerName[];
}

export const guarantees: readonly Guarantee[] = [
  {
    name: "one holder, as reported",
    meaning:
      "what was reported to the application excludes each other, from the return of an acquire to its release, its loss or its death",
    checkers: ["belief", "mutex", "rw", "permits", "reentry"],
  },
  {
    name: "one holder, as promised",
    meaning: "the same, each hold cut where its own deadline had run out",
    checkers: ["advertised"],
  },
  {
    name: "no damage",
    meaning:
      "the protected resource took no write of an older holder after a newer one's, and lost no update",
    checkers: ["effect", "fence-effect", "lost-update"],
  },
  {
    name: "tokens rise",
    meaning: "a later grant has the higher fencing token, and no two writers share one",
    checkers: ["fence-order"],
  },
  {
    name: "losses are reported in time",
    meaning: "a holder hears that it lost before the next one is granted",
    checkers: ["lost-notice"],
  },
  {
    name: "fair",
    meaning: "no client in the queue is overtaken",
    checkers: ["fifo"],
  },
  {
    name: "goes on",
    meaning:
      "a free lock finds its waiter, limited waits end, and after the last fault every key is granted again",
    checkers: ["handover", "heal-liveness", "bounded-wait", "refusals", "latch"],
  },
  {
    name: "nothing left",
    meaning: "no node, key or queue entry of a dead owner stays in the backend",
    checkers: ["leaks"],
  },
];
