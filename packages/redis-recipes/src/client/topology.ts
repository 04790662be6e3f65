import type { Redis } from "ioredis";
import type { Outcome } from "./commands.js";
import type { MasterNode } from "./master-node.js";
import type { LineNotice } from "./redis-line.js";
import type { ServerInfo } from "./server-info.js";
import type { RedisAddress } from "./target.js";

/** Which masters there are, and which of them serves which slot. */
export interface Topology {
  readonly servers: readonly string[];
  /** Whether a master is known and trusted. In a cluster, each master must also have been tried once. */
  readonly connected: boolean;
  readonly lastCause: unknown;
  /** Whether every server refused when it was last tried. */
  readonly refused: boolean;
  slotOf(key: string): number | null;
  /** `null` where no master is known for the slot. */
  nodeOf(slot: number | null): MasterNode | null;
  /**
   * The node that a MOVED or ASK names. `null` when a MOVED names a node that the slot map lacks: the map has to be read again.
   */
  redirect(to: RedisAddress, kind: "moved" | "ask"): MasterNode | null;
  /** To be called when an answer showed that the slot map is old. */
  outdated(): void;
  /** The client of a master, from which a connection for subscriptions is copied. */
  subscriptionBase(): Redis | null;
  /** Whether the server of this client receives what is published at any server. */
  hears(redis: Redis): boolean;
  /** Resolves when everything that was opened here is closed. Given clients stay open. */
  close(): Promise<void>;
}

export interface TopologyEvents {
  /** A master has become trusted; `probed`: the answers to the topology's probes. */
  trusted(node: MasterNode, info: ServerInfo, probed: readonly Outcome[]): void;
  notice(what: LineNotice): void;
  /**
   * A master is reached again by an address that led to a replica meanwhile. Other connections may still lead to that replica.
   */
  relocated(): void;
  /** One master of several is no longer trusted. */
  broken(): void;
  /** `connected`, `nodeOf` or the causes may have changed. */
  changed(): void;
}

/**
 * Ends a client of ours. Commands that were written before are still sent. A server that does not answer delays the end by half a
 * second.
 */
export function closeClient(redis: Redis): Promise<void> {
  return new Promise((resolve) => {
    // Errors of a closing client do not matter any more, but they need a listener: otherwise ioredis prints them.
    redis.on("error", () => {});
    if (redis.status === "end") {
      resolve();
      return;
    }
    redis.once("end", () => {
      // Ends a sentinel connection that was made meanwhile, which nothing else would end.
      redis.disconnect();
      resolve();
    });
    redis.disconnect();
    // Between two attempts to connect there is no connection that could end. `disconnect` has cancelled the next attempt.
    if (redis.status === "reconnecting" || redis.status === "close") resolve();
  });
}
