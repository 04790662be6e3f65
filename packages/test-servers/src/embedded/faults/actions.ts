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
  /** The last transaction when it happened. */
  readonly zxid: bigint;
}

/** The point at which a request, handshake or event waits. */
export type HoldPoint =
  /** The request was read, but does not count as a sign of life yet. */
  | "frame"
  /** It counts as a sign of life, but was not applied. */
  | "prep"
  /** It was applied and its events are out. The reply is not sent, and later requests are not read. */
  | "applied"
  /** It was applied, and later requests are applied as well. The reply and everything behind it wait. */
  | "reply";

/** What a fault does to a request; `do` names it. Waits end when `release()` of the fault is called. */
export type FaultAction =
  /**
   * Closes the connection without a reply, before the request is applied or after. `reset`: by RST. A handshake gets no
   * byte.
   */
  | {
      readonly do: "close";
      /** Default `"before"`. */
      readonly when?: "before" | "applied";
      /** Closes by RST instead of FIN; default false. */
      readonly reset?: boolean;
    }
  /** The request is neither applied nor answered, and the connection stays. An event gets lost. */
  | { readonly do: "drop" }
  /** The request is applied. Neither this reply nor anything behind it is ever sent. */
  | { readonly do: "no-reply" }
  /**
   * Waits at `at` (default "prep"; handshakes and events have only one place). With `forMs`, waits so long on the
   * server's clock.
   */
  | {
      readonly do: "hold";
      /** Default `"prep"`. */
      readonly at?: HoldPoint;
      /** Milliseconds; default until `release()`. */
      readonly forMs?: number;
    }
  /** The reply waits until the connection sends another request, as in ZOOKEEPER-4537. */
  | { readonly do: "withhold" }
  /** Answers an error. `apply` (default false) applies the request all the same, which no real server does. */
  | {
      readonly do: "answer";
      /** The error, by ZooKeeper's name for it. */
      readonly err: ErrorName;
      /** Applies the request all the same; default false. */
      readonly apply?: boolean;
    }
  /** Behaves like a server that does not know the operation: it answers an error and closes the connection. */
  | { readonly do: "unknown-op" }
  /** Applies the request, sends the first `bytes` of the reply's frame, then closes (default) or sends nothing more. */
  | {
      readonly do: "cut-reply";
      /** How many bytes of the reply's frame are sent. */
      readonly bytes: number;
      /** What follows them; default `"close"`. */
      readonly next?: "close" | "stall";
    }
  /** Makes the reply at least this long, by bytes behind its record that decoders ignore. */
  | {
      readonly do: "grow-reply";
      /** The least length of the reply, in bytes. */
      readonly bytes: number;
    }
  /**
   * Ends the session before the request is applied, or after that and before the reply, which is then the last thing
   * sent. `silent`: no FIN and no reply; the socket stays open and reads nothing.
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
   * Calls back at `at` (default "prep"). If the call returns a promise, everything on this connection waits until it
   * settles.
   *
   * "applied" stands between applying and the reply. An event that the call causes there overtakes the reply, even if
   * this very request set the watch. No real server sends an event before the answer to the request that asked for it.
   * To cause an event behind the reply, `hold` the request at "reply", act once `reached()`, and release.
   */
  | {
      readonly do: "run";
      /** Default `"prep"`. */
      readonly at?: "frame" | "prep" | "applied";
      /** What is called, each time the fault happens. */
      call(hit: FaultHit): void | Promise<void>;
    }
  /** For a handshake: answers that the session is over. */
  | { readonly do: "reject" }
  /**
   * For a handshake: the session's earlier connection stays open for reads until it writes, as at a follower. A leader
   * closes it.
   */
  | { readonly do: "move" };

/** Where an action waits or calls; undefined if it does neither. */
export function pointOf(action: FaultAction): HoldPoint | undefined {
  return action.do === "hold" || action.do === "run" ? (action.at ?? "prep") : undefined;
}

/**
 * Whether no later action can do anything, because this one ends a request that is not applied yet, a handshake or an
 * event.
 */
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

/** The actions that are possible for a handshake. */
export const handshakeActions: ReadonlySet<FaultAction["do"]> = new Set([
  "close",
  "reject",
  "move",
  "hold",
  "run",
]);
/** The actions that are possible for an event. */
export const eventActions: ReadonlySet<FaultAction["do"]> = new Set(["drop", "hold"]);
/** The actions that are possible only for a handshake. */
export const handshakeOnly: ReadonlySet<FaultAction["do"]> = new Set(["reject", "move"]);
