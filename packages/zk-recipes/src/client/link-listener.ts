import type { WatcherEvent } from "@holdfast/zk-protocol";
import type { WatchedPaths } from "./set-watches.js";

/** What a link reports to its session. Each call is synchronous with the bytes or the socket event that it is about. */
export interface LinkListener {
  /** An attempt at a connection begins. */
  dialling(): void;
  /** The handshake is about to be sent. */
  greeting(): void;
  /** Bytes have come; none of their frames has been looked at. */
  received(): void;
  /**
   * The paths that the session watches. The link restores them on a new connection, behind the credentials and ahead of
   * all other requests.
   */
  watched(): WatchedPaths;
  /**
   * The server knows the session. Requests that are sent during this call leave behind the credentials and the watches,
   * and ahead of all others.
   */
  greeted(): void;
  /**
   * The connection is ready, and the library and its listeners know of it too. Called once more when the credentials have
   * been accepted.
   */
  up(): void;
  event(event: WatcherEvent): void;
  /** The server does not know the session (any more). */
  expired(): void;
  authFailed(cause: Error): void;
  /** Nothing can be sent from here on; `down` follows when the socket is closed. */
  broken(): void;
  /** A connection, or an attempt at one, has ended. The requests in flight get their errors right after this call. */
  down(cause: Error | null, wasUp: boolean): void;
  /** The client was closed, or can connect no more. */
  over(): void;
}
