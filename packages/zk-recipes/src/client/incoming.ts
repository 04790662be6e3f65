import {
  type ConnectResponse,
  decodeConnectResponse,
  decodeReplyHeader,
  decodeWatcherEvent,
  FrameReader,
  type ReplyHeader,
  replyHeaderBytes,
  type WatcherEvent,
  xids,
} from "@holdfast/zk-protocol";
import { throwLater } from "./guarded.js";
import { type ConnectionManager, type LibraryPacket, ManagerState } from "./library.js";
import type { LibrarySide } from "./library-side.js";
import { Packet, type PendingQueue } from "./pending-queue.js";

export interface IncomingListener {
  handshake(response: ConnectResponse): void;
  /** The answer to one credential: 0 when it is accepted. */
  credentials(code: number): void;
  event(event: WatcherEvent): void;
  /** The first request on this connection was answered, and the connection goes on. */
  served(): void;
  /** The bytes make no sense, and the connection is of no use any more. The listener calls `reset()` from within. */
  nonsense(reason: string): void;
}

/**
 * Reads the frames that come on a link and hands each to its request or listener. Answers come in the order of the
 * requests.
 */
export class Incoming {
  readonly #manager: ConnectionManager;
  readonly #pending: PendingQueue<Packet | LibraryPacket>;
  readonly #library: LibrarySide;
  readonly #listener: IncomingListener;
  #reader = new FrameReader();
  /** The handshake of this connection was answered. */
  #greeted = false;
  #served = false;

  constructor(
    manager: ConnectionManager,
    pending: PendingQueue<Packet | LibraryPacket>,
    library: LibrarySide,
    listener: IncomingListener,
  ) {
    this.#manager = manager;
    this.#pending = pending;
    this.#library = library;
    this.#listener = listener;
  }

  /** A connection has begun or ended. Forgets the unread bytes of the last one. */
  reset(): void {
    this.#reader = new FrameReader();
    this.#greeted = false;
    this.#served = false;
  }

  add(chunk: Buffer): void {
    this.#reader.push(chunk);
  }

  handOut(): void {
    const reader = this.#reader;
    // A callback may end the connection. `reset()` then replaces the reader, and its remaining bytes are dropped.
    while (reader === this.#reader) {
      try {
        const frame = reader.next();
        if (frame === null) return;
        this.#onFrame(frame);
      } catch (error) {
        this.#listener.nonsense(`bytes that are not the protocol's: ${(error as Error).message}`);
      }
    }
  }

  #onFrame(frame: Buffer): void {
    const { state } = this.#manager;
    if (state === ManagerState.connecting && !this.#greeted) {
      this.#greeted = true;
      return this.#listener.handshake(decodeConnectResponse(frame));
    }
    // Answers may come while the manager is still `connecting`: very many watches are re-sent over several turns of the
    // event loop.
    if (state < ManagerState.closing || state === ManagerState.disconnected) return;
    const header = decodeReplyHeader(frame);
    switch (header.xid) {
      case xids.ping:
      case xids.setWatches:
        return;
      case xids.auth:
        return this.#listener.credentials(header.err);
      case xids.event:
        return this.#listener.event(decodeWatcherEvent(frame.subarray(replyHeaderBytes)));
      default:
        return this.#onReply(header, frame);
    }
  }

  #onReply(header: ReplyHeader, frame: Buffer): void {
    const head = this.#pending.peek();
    if (head === undefined) {
      return this.#listener.nonsense(`an answer (xid ${header.xid}) to nothing that was asked`);
    }
    const expected = head instanceof Packet ? head.xid : head.request.header?.xid;
    if (expected !== header.xid) {
      return this.#listener.nonsense(`an answer out of turn: xid ${header.xid}, not ${expected}`);
    }
    // Only values over 0 are zxids. Copied byte by byte, because `copy` would make a view of the frame first.
    if (header.zxid > 0n) for (let i = 0; i < 8; i++) this.#manager.zxid[i] = frame[4 + i] as number;
    const reader = this.#reader;
    if (head instanceof Packet) this.#answer(head, header, frame);
    else this.#library.answer(head, header, frame);
    // An answer that makes the connection useless has ended it by now, and was no service.
    if (this.#served || reader !== this.#reader) return;
    this.#served = true;
    this.#listener.served();
  }

  #answer(head: Packet, header: ReplyHeader, frame: Buffer): void {
    this.#pending.shift();
    try {
      head.answered(header, frame);
    } catch (error) {
      throwLater(error);
    }
  }
}
