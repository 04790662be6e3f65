import type { WatcherEvent } from "@holdfast/zk-protocol";
import type { WatchedPaths } from "./set-watches.js";

/** What a session hears of its link. All of it is synchronous with the bytes or the socket event it is about. */
export interface LinkListener {
  /** An attempt at a connection begins. */
  dialling(): void;
  /** The handshake is about to leave. */
  greeting(): void;
  /** Bytes have come, before any of their frames is looked at. */
  received(): void;
  /** What it watches: put back on a new connection ahead of everything else but the credentials. */
  watched(): WatchedPaths;
  /** The server knows the session. What is sent from within leaves behind the credentials and the watches, ahead of everything else. */
  greeted(): void;
  /** The library and its listeners know of the connection too; once more when the credentials have been accepted. */
  up(): void;
  event(event: WatcherEvent): void;
  /** The server does not know the session (any more). */
  expired(): void;
  authFailed(cause: Error): void;
  /** Nothing can be sent from here on; `down` follows when the socket is closed. */
  broken(): void;
  /** A connection, or an attempt at one, has ended. The packets in flight get their errors right after. */
  down(cause: Error | null, wasUp: boolean): void;
  /** The client was closed, or has come to its end. */
  over(): void;
}
