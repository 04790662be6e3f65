import type { ManualClock } from "./clock.js";
import type { Compat } from "./compat.js";

/** An option that `startZooKeeper` has as well has the same name and meaning here. */
export interface EmbeddedZooKeeperOptions {
  /** Default: a free port. */
  readonly port?: number;
  /**
   * The address to listen at; default 127.0.0.1. At any other one, every client that reaches it may read and write
   * everything.
   */
  readonly host?: string;
  /** ZooKeeper's `tickTime` in milliseconds; default 500. A session time-out is 2 to 20 ticks. */
  readonly tickTimeMs?: number;
  /** Least session time-out in milliseconds; default 2 ticks. */
  readonly minSessionTimeoutMs?: number;
  /** Longest session time-out in milliseconds; default 20 ticks. */
  readonly maxSessionTimeoutMs?: number;
  /**
   * The four-letter words that are answered, or "all"; default those of the release, which is `srvr` alone from 3.5 on.
   */
  readonly words?: readonly string[] | "all";
  /** The release to imitate; default "3.8", the one that was measured. */
  readonly compat?: Compat;
  /** TTL nodes, `extendedTypesEnabled`; default false. */
  readonly extendedTypes?: boolean;
  /** Milliseconds between two runs of the cleaner for empty containers and old TTL nodes; default 60,000. */
  readonly containerCheckIntervalMs?: number;
  /** Milliseconds after which a container that never had a child is removed; default 0: it stays. */
  readonly containerMaxNeverUsedIntervalMs?: number;
  /** Connections allowed at a time; default 0, no limit (ZooKeeper's own default is 60). */
  readonly maxClientCnxns?: number;
  /**
   * Maps a path to the number that its next sequential child gets, for instance `{ "/lock": 1_999_999_999 }`. These
   * nodes exist, empty and persistent, when the server is up.
   */
  readonly sequences?: Readonly<Record<string, number>>;
  /**
   * Default "system". With a `ManualClock` nothing expires and nothing is cleaned up until the test moves the clock.
   */
  readonly clock?: "system" | ManualClock;
  /** The seed of every choice that ZooKeeper leaves open, such as the order of events of a dying session; default 1. */
  readonly seed?: number;
}
