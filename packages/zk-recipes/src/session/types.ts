import type { Millis, SessionState } from "@holdfast/core";
import type { OpName, RequestOf, ResponseOf, WatchEventType, ZooKeeperError } from "@holdfast/zk-protocol";
import type { NotConnectedError, OutcomeUnknownError, SessionLostError } from "./errors.js";

/** Why a request ended without a result. */
export type RequestError =
  /** The server refused. */
  | ZooKeeperError
  /** The request was never sent: nothing happened at the server. */
  | NotConnectedError
  /** The request was sent and its answer never came: it may have been applied. */
  | OutcomeUnknownError
  /** The session is over. The server keeps none of its nodes, or will delete them once it notices the end. */
  | SessionLostError;

export type Outcome<T> =
  | { readonly ok: true; readonly value: T; readonly zxid: bigint }
  | { readonly ok: false; readonly error: RequestError };

export type Settle<T> = (outcome: Outcome<T>) => void;

/** The listener of a watched read. Both methods run in the order of the frames on the wire. */
export interface WatchListener<T> {
  /** Called once with the answer to the read. The watch is armed only if the answer is `ok`. */
  answered(outcome: Outcome<T>): void;
  /** Called at most once: the watch fired and is used up. Never called after `drop()`, or once the session is lost. */
  fired(type: WatchEventType): void;
}

/** A node to be watched without reading it. */
export interface UnreadWatch {
  readonly path: string;
  readonly listener: WatchListener<null>;
}

export interface WatchHandle {
  /** Stops listening, without a request. At most one late event of the server is ignored. */
  drop(): void;
  /** Stops listening. If no other listener here watches the path, the server removes the watch too. */
  remove(): void;
}

/**
 * `"lease"`: our own clock ran out first. `"expired"`: the server said that the session has expired. `"auth"`: the server
 * refused our credentials.
 */
export type SessionLossReason = "lease" | "expired" | "auth";

/**
 * One ZooKeeper session from its first connection to its end, over as many connections as it takes. Once it is `lost` or
 * `closed` it stays so; a caller that wants to go on opens another one.
 *
 * All callbacks run synchronously in the order of the frames on the wire: when one runs, every frame received before has
 * been handled. When a connection ends, listeners of the state are called first. Then the requests that were in flight
 * fail, oldest first. A callback that throws does not hold up the others; its error becomes an uncaught exception.
 *
 * The process is kept alive while a request, a watch or `whenConnected()` is pending, but not by an idle session. Paths
 * are the server's own, absolute, without any chroot.
 */
export interface ZooKeeperSession {
  readonly state: SessionState | "closed";

  /** 0n until the first handshake. */
  readonly id: bigint;

  /** Why the session is `lost`; `null` while it is not. */
  readonly lossReason: SessionLossReason | null;

  /** The time-out as the server granted it; 0 until the first handshake. */
  readonly timeoutMs: Millis;

  /**
   * The zxid of the last reply, over all connections; 0n until the first one. A request that is sent now can only be
   * applied under a higher one.
   */
  readonly lastZxid: bigint;

  /** Monotonic time at which the last bytes came from a server; `-Infinity` before that. */
  readonly heardAtMs: Millis;

  /** Counts the handshakes. Two answers with the same number came over the same connection. */
  readonly connection: number;

  /** The servers as `host:port`, for messages. */
  readonly servers: readonly string[];

  /**
   * Monotonic time until which the server is known to keep this session, less the margin. It is counted from when a
   * request was *sent* that the leader has counted for certain; the answer to a sync, write or handshake proves that.
   * `-Infinity` once the session is lost or closed, and while `asleep`.
   */
  leaseUntilMs(): Millis;

  /**
   * The end of the lease by the monotonic clock alone. At this time the session is lost. A suspected sleep does not
   * shorten it.
   */
  leaseEndMs(): Millis;

  /**
   * Whether the machine seems to have slept since the last proof was sent, while contact is not broken. The session is
   * then `suspended` until a later proof is answered. Reading the lease notices the sleep, even if timers are late.
   */
  readonly asleep: boolean;

  /**
   * Whether the server has sent more than one turn of the event loop handles. Some of it may then wait in the socket for
   * several turns.
   */
  readonly behind: boolean;

  /**
   * Sends a request. `settle` is called exactly once, and never before `send` has returned. Without a connection nothing
   * is sent or queued, and it fails with `NotConnectedError`. All that is sent in one turn of the event loop leaves in
   * one write to the socket, in order.
   */
  send<K extends OpName>(op: K, request: RequestOf<K>, settle: Settle<ResponseOf<K>>): void;

  /** `send` as a promise; rejects with the `RequestError`. For paths where the order of frames does not matter. */
  request<K extends OpName>(op: K, request: RequestOf<K>): Promise<ResponseOf<K>>;

  /** getData with a watch. */
  watchData(path: string, listener: WatchListener<ResponseOf<"getData">>): WatchHandle;

  /**
   * Watches the data of several nodes by one `setWatches`, or more if paths are very long. None of the nodes is read. If
   * a node is missing, or was written after `sinceZxid`, its watch fires before the answer. Each listener whose watch has
   * not fired by then is answered `null`.
   *
   * The server checks no ACL here. A server of 3.8.4 or later withholds the events of a node that the session may not
   * read.
   */
  watchUnread(watches: readonly UnreadWatch[], sinceZxid: bigint): WatchHandle[];

  /** getChildren2 with a watch. */
  watchChildren(path: string, listener: WatchListener<ResponseOf<"getChildren2">>): WatchHandle;

  /** exists with a watch, which is armed also when the node is absent. */
  watchExists(path: string, listener: WatchListener<ResponseOf<"exists"> | null>): WatchHandle;

  /** Sends a request that proves the lease (`sync`, or an empty `multi` with `leaseProof: "quorum"`). */
  prove(settle?: Settle<void>): void;

  /**
   * Reports each change of `state`, synchronously. `connected` comes after the watches have been re-sent. The result
   * stops it.
   */
  onState(listener: (state: SessionState | "closed") => void): () => void;

  /**
   * Reports each end of a connection, or of an attempt at one, after `onState`; also while the session is `suspended`
   * already.
   */
  onBroken(listener: () => void): () => void;

  /**
   * Resolves when the session is `connected`. Rejects with `BackendError` (naming servers and the last cause) after
   * `waitMs`, or from 900 ms on if every server refused in a full round. Rejects with `SessionLostError` when the session
   * ends.
   */
  whenConnected(options?: { waitMs?: Millis; signal?: AbortSignal }): Promise<void>;

  /**
   * Ends the session at the server and closes the socket. Takes no longer than `waitMs` (default 1,000), whatever the
   * server does.
   */
  close(options?: { waitMs?: Millis }): Promise<void>;
}
