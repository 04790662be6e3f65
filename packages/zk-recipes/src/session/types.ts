import type { Millis, SessionState } from "@holdfast/core";
import type { OpName, RequestOf, ResponseOf, WatchEventType, ZooKeeperError } from "@holdfast/zk-protocol";
import type { NotConnectedError, OutcomeUnknownError, SessionLostError } from "./errors.js";

/** How a request ended without a result. */
export type RequestError =
  /** The server said no. */
  | ZooKeeperError
  /** It was never sent: nothing happened at the server. */
  | NotConnectedError
  /** It was sent and the answer never came: it may have been applied. */
  | OutcomeUnknownError
  /** The session is over: nothing of it is left at the server, or will be once the server notices. */
  | SessionLostError;

export type Outcome<T> =
  | { readonly ok: true; readonly value: T; readonly zxid: bigint }
  | { readonly ok: false; readonly error: RequestError };

export type Settle<T> = (outcome: Outcome<T>) => void;

/** What a watched read hears. Both run in the order of the frames on the wire. */
export interface WatchListener<T> {
  /** Once: the answer to the read. The watch is armed only if it is `ok`. */
  answered(outcome: Outcome<T>): void;
  /** Once at most: the watch fired and is used up. Never after `drop()` or once the session is lost. */
  fired(type: WatchEventType): void;
}

/** A node to be watched without reading it. */
export interface UnreadWatch {
  readonly path: string;
  readonly listener: WatchListener<null>;
}

export interface WatchHandle {
  /** Stops listening, without a request: at most one late event of the server is ignored. */
  drop(): void;
  /** Stops listening and, when no other listener here watches the path, has the server forget it too. */
  remove(): void;
}

/** `"lease"`: our own clock ran out first. `"expired"`: the server said so. `"auth"`: it refused our credentials. */
export type SessionLossReason = "lease" | "expired" | "auth";

/**
 * One ZooKeeper session from its first connection to its end, over as many connections as it takes.
 * Once `lost` or `closed` it stays so; a caller that wants to go on opens another.
 *
 * All callbacks run synchronously in the order of the frames on the wire: when one runs, every
 * frame received before has been handled. When a connection ends, listeners of the state hear of it
 * first, then the requests that were in flight, oldest first. A callback that throws does not hold up the
 * others; its error comes out as an uncaught exception.
 *
 * The process is held while a request, a watch or `whenConnected()` is pending, not by an idle session.
 * Paths are the server's own, absolute, without any chroot.
 */
export interface ZooKeeperSession {
  readonly state: SessionState | "closed";

  /** 0n until the first handshake. */
  readonly id: bigint;

  /** Why it is `lost`; `null` while it is not. */
  readonly lossReason: SessionLossReason | null;

  /** The time-out as the server granted it; 0 until the first handshake. */
  readonly timeoutMs: Millis;

  /** Monotonic time at which the last bytes came from a server; `-Infinity` before the first ones. */
  readonly heardAtMs: Millis;

  /** Counts handshakes: two answers with the same number came over the same connection. */
  readonly connection: number;

  /** Where we are connected or were last tried to, `host:port`, for messages. */
  readonly servers: readonly string[];

  /**
   * Monotonic time until which the server is known to keep this session, less the margin: counted from when a request
   * was *sent* of which an answered sync, write or handshake proves that the leader has counted it. `-Infinity` once the
   * session is lost or closed, and while `asleep`.
   */
  leaseUntilMs(): Millis;

  /** The same by the monotonic clock alone: when it comes, the session is lost. A suspected sleep does not shorten it. */
  leaseEndMs(): Millis;

  /**
   * The machine seems to have slept since the last proof was sent, and contact is not broken: the session is `suspended`
   * until a proof sent after that is answered. Reading the lease notices it, whatever the timers do.
   */
  readonly asleep: boolean;

  /** What the server has sent is more than one turn of the event loop takes: some of it may wait in the socket for several. */
  readonly behind: boolean;

  /**
   * Settles exactly once, and never before `send` has returned. Fails with `NotConnectedError`
   * without sending when there is no connection, so nothing is queued here. All that is sent in one turn of the event loop leaves
   * in one write to the socket, in order.
   */
  send<K extends OpName>(op: K, request: RequestOf<K>, settle: Settle<ResponseOf<K>>): void;

  /** `send` as a promise; rejects with the `RequestError`. For paths where the order of frames does not matter. */
  request<K extends OpName>(op: K, request: RequestOf<K>): Promise<ResponseOf<K>>;

  /** getData with a watch. */
  watchData(path: string, listener: WatchListener<ResponseOf<"getData">>): WatchHandle;

  /**
   * Watches the data of several nodes by one `setWatches`, or more where paths are very long, which reads none. A node that is missing,
   * or was written after `sinceZxid`, fires before the answer. Each listener is answered `null` unless it has fired by then. The server
   * checks no ACL here, and one of 3.8.4 or later withholds the events of a node that the session may not read.
   */
  watchUnread(watches: readonly UnreadWatch[], sinceZxid: bigint): WatchHandle[];

  /** getChildren2 with a watch. */
  watchChildren(path: string, listener: WatchListener<ResponseOf<"getChildren2">>): WatchHandle;

  /** exists with a watch; armed also when the node is absent. */
  watchExists(path: string, listener: WatchListener<ResponseOf<"exists"> | null>): WatchHandle;

  /** Sends what proves the lease now (`sync`, or an empty `multi` with `leaseProof: "quorum"`). */
  prove(settle?: Settle<void>): void;

  /** Each change of `state`, synchronously. `connected` comes after the watches have been re-sent. */
  onState(listener: (state: SessionState | "closed") => void): () => void;

  /** Each end of a connection, or of an attempt at one, behind `onState`; also while the session is `suspended` already. */
  onBroken(listener: () => void): () => void;

  /**
   * Resolves when `connected`. Rejects with `BackendError` (naming servers and the last cause) after
   * `waitMs`, or from 900 ms on when every server refused in a full round; with `SessionLostError` when it ends.
   */
  whenConnected(options?: { waitMs?: Millis; signal?: AbortSignal }): Promise<void>;

  /** Ends the session at the server and lets go of the socket, within `waitMs` (default 1,000) whatever the server does. */
  close(options?: { waitMs?: Millis }): Promise<void>;
}
