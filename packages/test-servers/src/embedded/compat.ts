import type { OpName } from "@holdfast/zk-protocol";

/** The releases that the embedded server can imitate. It was measured against "3.8". */
export type Compat = "3.4" | "3.5" | "3.6" | "3.8" | "3.9";

/** The differences between releases, as far as they concern locks. */
export interface Behaviour {
  /** The version as `srvr` prints it. */
  readonly version: string;
  /** From 3.9 on, the event of a change carries its zxid; before, it carries -1. */
  readonly eventsCarryZxid: boolean;
  /**
   * Whether an event is sent only to clients that may read its node (CVE-2024-23944). Apache's 3.8.0 does not check
   * this. The 3.8.0 that Debian ships, which was measured, does.
   */
  readonly eventsNeedRead: boolean;
  /** Up to 3.8, a one-shot watch replaces a lasting watch of the same connection on the same path (ZOOKEEPER-4466). */
  readonly watchesOverwrite: boolean;
  /** Up to 3.8.0, a create2 step of a multi is answered like a create, without a Stat. */
  readonly multiCreate2HasStat: boolean;
  /** From 3.9 on, `exists` needs READ on the node (ZOOKEEPER-2590). */
  readonly existsNeedsRead: boolean;
  /** What the counter of sequential names does after 2147483647. */
  readonly counterAtLimit: "sticks" | "wraps";
  /** Whether removeWatches accepts the types 4 and 5. */
  readonly removesByMode: boolean;
  /** The four-letter words that are answered unless configured otherwise. */
  readonly defaultWords: readonly string[];
  /** The operations that the release does not know. A request for one of them ends the connection. */
  readonly unknownOps: ReadonlySet<OpName>;
}

const since35: readonly OpName[] = [
  "create2",
  "createContainer",
  "createTTL",
  "deleteContainer",
  "checkWatches",
  "removeWatches",
  "reconfig",
];
const since36: readonly OpName[] = [
  "multiRead",
  "getEphemerals",
  "getAllChildrenNumber",
  "setWatches2",
  "addWatch",
];
const since37: readonly OpName[] = ["whoAmI"];
const measured: Behaviour = {
  version: "3.8.0",
  eventsCarryZxid: false,
  eventsNeedRead: true,
  watchesOverwrite: true,
  multiCreate2HasStat: false,
  existsNeedsRead: false,
  counterAtLimit: "sticks",
  removesByMode: false,
  defaultWords: ["srvr"],
  unknownOps: new Set(),
};

const behaviours: { readonly [C in Compat]: Behaviour } = {
  "3.4": {
    ...measured,
    version: "3.4.14",
    eventsNeedRead: false,
    counterAtLimit: "wraps",
    defaultWords: ["ruok", "srvr", "stat", "mntr", "cons", "dump", "wchs", "isro", "conf"],
    unknownOps: new Set([...since35, ...since36, ...since37]),
  },
  "3.5": {
    ...measured,
    version: "3.5.10",
    eventsNeedRead: false,
    counterAtLimit: "wraps",
    unknownOps: new Set([...since36, ...since37]),
  },
  "3.6": {
    ...measured,
    version: "3.6.4",
    eventsNeedRead: false,
    unknownOps: new Set(since37),
  },
  "3.8": measured,
  "3.9": {
    ...measured,
    version: "3.9.3",
    eventsCarryZxid: true,
    watchesOverwrite: false,
    multiCreate2HasStat: true,
    existsNeedsRead: true,
    removesByMode: true,
    // Inside a multi, `check` is known.
    unknownOps: new Set(["check"]),
  },
};

/**
 * "3.8" rests on measurements, as do `existsNeedsRead` and `check` of "3.9". All other differences were read in the
 * sources.
 */
export function behaviourOf(compat: Compat): Behaviour {
  return behaviours[compat];
}
