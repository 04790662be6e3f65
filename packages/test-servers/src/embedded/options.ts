import type { ManualClock } from "./clock.js";
import type { Compat } from "./compat.js";

/** Where an option is one of `startZooKeeper`, it has the same name and meaning. */
export interface EmbeddedZooKeeperOptions {
  /** Default: one that is free. */
  readonly port?: number;
  /** Address to listen at; default 127.0.0.1. Every client that reaches another one may read and write everything. */
  readonly host?: string;
  /** ZooKeeper's `tickTime` in milliseconds; default 500. Sessions get 2 to 20 of them. */
  readonly tickTimeMs?: number;
  /** Least session time-out in milliseconds; default 2 ticks. */
  readonly minSessionTimeoutMs?: number;
  /** Longest session time-out in milliseconds; default 20 ticks. */
  readonly maxSessionTimeoutMs?: number;
  /** Four-letter words that are answered, or "all"; default as the release does, which is `srvr` alone. */
  readonly words?: readonly string[] | "all";
  /** Release to behave like; default "3.8", the one that was measured. */
  readonly compat?: Compat;
  /** TTL nodes, `extendedTypesEnabled`; default false. */
  readonly extendedTypes?: boolean;
  /** Milliseconds between two looks for empty containers and old TTL nodes; default 60,000. */
  readonly containerCheckIntervalMs?: number;
  /** Milliseconds after which a container goes that never had a child; default 0: it stays. */
  readonly containerMaxNeverUsedIntervalMs?: number;
  /** Connections allowed at a time; default 0, no limit (ZooKeeper's own default is 60). */
  readonly maxClientCnxns?: number;
  /**
   * Path to the number that its next sequential child gets, for instance `{ "/lock": 1_999_999_999 }`. The nodes are
   * there, empty and persistent, when the server is up.
   */
  readonly sequences?: Readonly<Record<string, number>>;
  /** Default "system". With a `ManualClock` nothing expires and nothing is cleaned up until it is moved. */
  readonly clock?: "system" | ManualClock;
  /** Decides what ZooKeeper leaves open, such as the order of events of a dying session; default 1. */
  readonly seed?: number;
}
