import type { Redis } from "ioredis";
import type { Outcome } from "./commands.js";
import type { MasterNode } from "./master-node.js";
import type { LineNotice } from "./redis-line.js";
import type { ServerInfo } from "./server-info.js";
import type { RedisAddress } from "./target.js";

/** Which masters there are, and which of them serves what. */
export interface Topology {
  readonly servers: readonly string[];
  /** A master is known and trusted; in a cluster, each has also been tried once. */
  readonly connected: boolean;
  readonly lastCause: unknown;
  /** Every server said no when last tried. */
  readonly refused: boolean;
  slotOf(key: string): number | null;
  /** `null` where none is known for the slot. */
  nodeOf(slot: number | null): MasterNode | null;
  /** The node that a MOVED or ASK names. `null` where the map of the slots lacks the one that a MOVED names: it is to be read again. */
  redirect(to: RedisAddress, kind: "moved" | "ask"): MasterNode | null;
  /** An answer showed that the map of the slots is old. */
  outdated(): void;
  /** The client of a master, to make a subscription connection from. */
  subscriptionBase(): Redis | null;
  /** Whether what is published anywhere reaches the server of this client. */
  hears(redis: Redis): boolean;
  /** Resolves when what was opened here is closed. Given clients stay. */
  close(): Promise<void>;
}

export interface TopologyEvents {
  /** A master is trusted; `probed` are the answers to the topology's probes. */
  trusted(node: MasterNode, info: ServerInfo, probed: readonly Outcome[]): void;
  notice(what: LineNotice): void;
  /** A master is reached again by an address that led to a replica meanwhile: other connections may still lead there. */
  relocated(): void;
  /** One master of several is not trusted any more. */
  broken(): void;
  /** `connected`, `nodeOf` or the causes may be different now. */
  changed(): void;
}

/** Ends a client of ours. What was written before is still sent; a server that does not answer holds it up for half a second. */
export function closeClient(redis: Redis): Promise<void> {
  return new Promise((resolve) => {
    // Whatever it has to say of its end is of no interest any more, but must not go unheard: ioredis prints it.
    redis.on("error", () => {});
    if (redis.status === "end") {
      resolve();
      return;
    }
    redis.once("end", () => {
      // Ends a sentinel connection that was made in the meantime, which nothing else would end.
      redis.disconnect();
      resolve();
    });
    redis.disconnect();
    // Between two attempts there is nothing that could end: the next one is called off.
    if (redis.status === "reconnecting" || redis.status === "close") resolve();
  });
}
