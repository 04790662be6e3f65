import type { ErrorName } from "@holdfast/zk-protocol";
import type { FaultTarget } from "./match.js";

/** One time that a fault happened. */
export interface FaultHit {
  /** The operation, `connect` or `event`; undefined for a request whose operation the server does not know. */
  readonly target: FaultTarget | undefined;
  /** The session of the request, of the handshake or of the event; 0n where there is none yet. */
  readonly session: bigint;
  /** The paths of the request or of the event; of a `multi` those of all its parts. */
  readonly paths: readonly string[];
  /** The xid of the request; 0 for handshakes, -1 for events. */
  readonly xid: number;
  /** Last transaction when it happened. */
  readonly zxid: bigint;
}

/** Where a request, handshake or event waits. */
export type HoldPoint =
  /** Read, but not counted as a sign of life. */
  | "frame"
  /** Counted as a sign of life, not applied. */
  | "prep"
  /** Applied, its events out, the reply not sent, later requests not read. */
  | "applied"
  /** Applied, and later requests are as well; the reply and all that comes behind it wait. */
  | "reply";

/** What a fault does to a request, by the `do`. Waits end with `release()` of the fault. */
export type FaultAction =
  /** Closes the connection before the request is applied, or after, without a reply. `reset`: by RST. For a handshake: without a byte. */
  | {
      readonly do: "close";
      /** Default `"before"`. */
      readonly when?: "before" | "applied";
      /** Closes by RST instead of FIN; default false. */
      readonly reset?: boolean;
    }
  /** Not applied and not answered, the connection stays. An event gets lost. */
  | { readonly do: "drop" }
  /** Applied; neither this reply nor anything behind it is ever sent. */
  | { readonly do: "no-reply" }
  /** Waits at `at` (default "prep"; handshakes and events have one place only), for `forMs` on the server's clock if given. */
  | {
      readonly do: "hold";
      /** Default `"prep"`. */
      readonly at?: HoldPoint;
      /** Milliseconds; default until `release()`. */
      readonly forMs?: number;
    }
  /** The reply waits until the connection sends another request, as in ZOOKEEPER-4537. */
  | { readonly do: "withhold" }
  /** Answers an error. `apply` (default false) applies the request all the same, which no server does. */
  | {
      readonly do: "answer";
      /** The error, by ZooKeeper's name for it. */
      readonly err: ErrorName;
      /** Applies the request all the same; default false. */
      readonly apply?: boolean;
    }
  /** Does as a server that does not know the operation: an error, and the connection is closed. */
  | { readonly do: "unknown-op" }
  /** Applies, sends the first `bytes` of the reply's frame, then closes (default) or falls silent. */
  | {
      readonly do: "cut-reply";
      /** How many bytes of the reply's frame are sent. */
      readonly bytes: number;
      /** What follows them; default `"close"`. */
      readonly next?: "close" | "stall";
    }
  /** Makes the reply at least so long, by bytes behind its record that decoders leave alone. */
  | {
      readonly do: "grow-reply";
      /** The least length of the reply, in bytes. */
      readonly bytes: number;
    }
  /**
   * Ends the session before the request is applied, or between applying and the reply, which then is the last
   * thing sent. `silent`: no FIN and no reply, the socket stays open and deaf.
   */
  | {
      readonly do: "expire";
      /** Default `"before"`. */
      readonly when?: "before" | "applied";
      /** Default false. */
      readonly silent?: boolean;
    }
  /** The watch that the request asks for is not set. */
  | { readonly do: "lose-watch" }
  /**
   * Calls back at `at` (default "prep"). A promise holds everything of this connection up until it settles.
   *
   * "applied" stands between applying and the reply: an event that the call causes overtakes the reply, also if the very
   * request set the watch, and no real server sends an event before the answer to the call that asked for it. To cause
   * one behind the reply, `hold` the request at "reply", act once `reached()`, and release.
   */
  | {
      readonly do: "run";
      /** Default `"prep"`. */
      readonly at?: "frame" | "prep" | "applied";
      /** What is called, each time the fault happens. */
      call(hit: FaultHit): void | Promise<void>;
    }
  /** For a handshake: says that the session is over. */
  | { readonly do: "reject" }
  /** For a handshake: leaves the session's earlier connection open for reads until it writes, as a follower does. A leader closes it. */
  | { readonly do: "move" };

/** Where an action waits or calls; undefined if it does neither. */
export function pointOf(action: FaultAction): HoldPoint | undefined {
  return action.do === "hold" || action.do === "run" ? (action.at ?? "prep") : undefined;
}

/** Whether nothing is done any more, behind this action, to a request that is not applied yet, a handshake or an event. */
export function isLast(action: FaultAction): boolean {
  switch (action.do) {
    case "close":
    case "expire":
      return action.when !== "applied";
    case "answer":
      return action.apply !== true;
    case "drop":
    case "unknown-op":
    case "reject":
    case "move":
      return true;
    default:
      return false;
  }
}

/** What a handshake can have done to it. */
export const handshakeActions: ReadonlySet<FaultAction["do"]> = new Set([
  "close",
  "reject",
  "move",
  "hold",
  "run",
]);
/** What an event can have done to it. */
export const eventActions: ReadonlySet<FaultAction["do"]> = new Set(["drop", "hold"]);
/** What only a handshake can have done to it. */
export const handshakeOnly: ReadonlySet<FaultAction["do"]> = new Set(["reject", "move"]);
