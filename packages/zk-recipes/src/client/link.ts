import type { Millis, Runtime } from "@holdfast/core";
import {
  type ConnectResponse,
  decodeConnectResponse,
  decodeReplyHeader,
  decodeWatcherEvent,
  encodeConnectRequest,
  encodeFrame,
  encodeRequest,
  errorCodes,
  FrameReader,
  opCodes,
  type ReplyHeader,
  replyHeaderBytes,
  type WatcherEvent,
  xids,
} from "@holdfast/zk-protocol";
import type { Dialer } from "./dialer.js";
import { guarded } from "./guarded.js";
import {
  type Client,
  type ConnectionManager,
  type LibraryPacket,
  libraryError,
  ManagerState,
  managerOf,
} from "./library.js";
import { LibrarySide } from "./library-side.js";
import { Outbox } from "./outbox.js";
import { type Packet, SentPacket } from "./packet.js";
import { PendingQueue } from "./pending-queue.js";
import { takeOver } from "./take-over.js";

/** Far below 2^31, where the library's `writeInt32BE` would throw on every request for good. */
const lastXid = 0x7ff0_0000;

/** What a session hears of its link. All of it is synchronous with the bytes or the socket event it is about. */
export interface LinkListener {
  /** An attempt at a connection begins. */
  dialling(): void;
  /** The handshake is about to leave. */
  greeting(): void;
  /** Bytes have come, before any of their frames is looked at. */
  received(): void;
  /** The server knows the session. What is sent from within leaves behind the credentials and ahead of everything else. */
  greeted(): void;
  /** The library and its listeners know of the connection too; once more when the credentials have been accepted. */
  up(): void;
  event(event: WatcherEvent): void;
  /** The server does not know the session (any more). */
  expired(): void;
  authFailed(cause: Error): void;
  /** Nothing can be sent from here on; `down` follows when the socket is closed. */
  broken(): void;
  /** A connection, or an attempt at one, has ended. The packets in flight are told right after. */
  down(cause: Error | null, wasUp: boolean): void;
  /** The client was closed, or has come to its end. */
  over(): void;
}

/**
 * A client of the library with its weak parts replaced on the instance, so that no other client in the process changes.
 *
 * Kept: its state machine, its events, its queue of requests made through its own API, its round of sockets where the
 * client is the user's. Replaced: frame parsing (stock keeps half a frame across connections, stops at a throwing callback, and
 * dies of unknown error codes), the handshake and the order of what follows it, zxid and xid keeping, the end of a connection.
 */
export class Link {
  readonly pending: PendingQueue<SentPacket | LibraryPacket> = new PendingQueue();
  readonly #manager: ConnectionManager;
  readonly library: LibrarySide;
  readonly #outbox: Outbox;
  readonly #dialer: Dialer | null;
  readonly #runtime: Runtime;
  #listener: LinkListener | null = null;
  #reader = new FrameReader();
  #up = false;
  #authsUnanswered = 0;
  #stopped = false;
  #ref = false;
  #lastError: Error | null = null;
  #attemptSinceMs: Millis | null = null;

  /** `dialer`: of our own clients; null for a user's, which dials as it always did. */
  constructor(client: Client, dialer: Dialer | null, runtime: Runtime) {
    this.#manager = managerOf(client);
    this.library = new LibrarySide(this.#manager);
    this.#outbox = new Outbox(() => this.#manager.socket);
    this.#dialer = dialer;
    this.#runtime = runtime;
    this.#hook();
  }

  get up(): boolean {
    return this.#up;
  }

  /** The server has accepted all credentials on this connection, or there are none. */
  get authenticated(): boolean {
    return this.#authsUnanswered === 0;
  }

  /** No connection will come any more. */
  get stopped(): boolean {
    return this.#stopped || this.#manager.state < ManagerState.closing;
  }

  get sessionId(): bigint {
    return this.#manager.sessionId.readBigInt64BE();
  }

  /** As granted; before the first handshake as asked for. */
  get timeoutMs(): Millis {
    return this.#manager.sessionTimeout;
  }

  /** From replies, so over 0 once there was one. */
  get lastZxid(): bigint {
    return this.#manager.zxid.readBigInt64BE();
  }

  /** Since when the present attempt at a connection has been under way; null when there is none. */
  get attemptSinceMs(): Millis | null {
    return this.#attemptSinceMs;
  }

  listen(listener: LinkListener | null): void {
    this.#listener = listener;
  }

  start(): void {
    this.#manager.connect();
  }

  /** Whether the socket, or the wait for the next one, holds the process. */
  hold(ref: boolean): void {
    this.#ref = ref;
    const { socket } = this.#manager;
    if (this.#dialer === null || socket === undefined) return;
    if (ref) socket.ref();
    else socket.unref();
  }

  /** Only while `up`. The bytes leave at the end of the batch, or with everything else sent in this turn of the loop. */
  send(type: number, body: Buffer, packet: Packet): void {
    const xid = this.#takeXid();
    this.pending.push(new SentPacket(xid, packet));
    const frame = Buffer.allocUnsafe(12 + body.length);
    frame.writeInt32BE(8 + body.length, 0);
    frame.writeInt32BE(xid, 4);
    frame.writeInt32BE(type, 8);
    frame.set(body, 12);
    this.#outbox.add(frame);
  }

  ping(): void {
    const frame = Buffer.allocUnsafe(12);
    frame.writeInt32BE(8, 0);
    frame.writeInt32BE(xids.ping, 4);
    frame.writeInt32BE(opCodes.ping, 8);
    this.#outbox.add(frame);
  }

  batch(write: () => void): void {
    this.#outbox.batch(write);
  }

  /** Leaves this server: ends the connection, or the attempt, and goes on to the next. */
  cut(reason: string): void {
    this.#up = false;
    this.#lastError = new Error(reason);
    this.#reader = new FrameReader();
    this.#manager.socket?.destroy();
    guarded(() => this.#listener?.broken());
  }

  /** Our own client only: ends everything without a word to the server. */
  stop(): void {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#dialer?.cancel();
    const { socket } = this.#manager;
    this.#up = false;
    if (socket === undefined || socket.closed) this.#end();
    else socket.destroy(); // its `close` ends the rest
  }

  #hook(): void {
    const manager = this.#manager;
    for (
      let packet = manager.pendingQueue.shift();
      packet !== undefined;
      packet = manager.pendingQueue.shift()
    ) {
      this.pending.push(packet);
    }
    manager.pendingQueue = this.pending as unknown as ConnectionManager["pendingQueue"];
    if (manager.pendingBuffer !== null) this.#reader.push(manager.pendingBuffer);
    manager.pendingBuffer = null;
    manager.onSocketConnected = (): void => this.#onConnected();
    manager.onSocketData = (chunk): void => this.#onData(chunk);
    manager.onSocketDrain = (): void => this.#onDrain();
    manager.onSocketError = (error): void => this.#onError(error);
    manager.onSocketClosed = (): void => this.#onClosed();
    if (this.#dialer !== null) manager.connect = (): void => this.#dial(this.#dialer as Dialer, false);
    // Ours go first, so that the order of the bytes is the order of the xids.
    manager.packetQueue.prependListener("readable", () => {
      this.#outbox.flush();
      if (manager.xid >= lastXid) manager.xid = 0;
    });
    manager.prependListener("state", (state: number) => {
      // A dialler of ours counts from the socket, not from the pause before it.
      if (state === ManagerState.connecting && this.#dialer === null) this.#dialling();
      if (state !== ManagerState.closing) return;
      this.#up = false; // whatever follows a close request is discarded
      guarded(() => this.#listener?.over());
    });
    const { socket } = manager;
    if (socket !== undefined && !socket.closed) takeOver(socket, manager);
    if (manager.state === ManagerState.connecting) this.#attemptSinceMs = this.#runtime.nowMs();
    this.#up = manager.state === ManagerState.connected;
  }

  #dial(dialer: Dialer, afterService: boolean): void {
    if (this.#stopped) return;
    const manager = this.#manager;
    guarded(() => manager.setState(ManagerState.connecting));
    dialer.dial(manager.sessionTimeout, afterService, this.#ref, ({ socket, readyEvent }) => {
      manager.socket = socket;
      socket.setNoDelay(true);
      if (!this.#ref) socket.unref();
      socket.on(readyEvent, () => manager.onSocketConnected());
      socket.on("data", (chunk: Buffer) => manager.onSocketData(chunk));
      socket.on("drain", () => manager.onSocketDrain());
      // A peer that says goodbye will not answer any more; waiting for our unsent bytes could take for ever.
      socket.on("end", () => socket.destroy());
      socket.on("error", (error) => manager.onSocketError(error));
      socket.on("close", (hadError) => manager.onSocketClosed(hadError));
      this.#dialling();
    });
  }

  #dialling(): void {
    this.#attemptSinceMs = this.#runtime.nowMs();
    guarded(() => this.#listener?.dialling());
  }

  #onConnected(): void {
    const manager = this.#manager;
    this.#clearConnectTimer();
    this.#reader = new FrameReader();
    this.#listener?.greeting();
    const request = encodeConnectRequest({
      protocolVersion: 0,
      lastZxidSeen: this.lastZxid,
      timeoutMs: manager.sessionTimeout,
      sessionId: this.sessionId,
      password: manager.sessionPassword,
      readOnly: false,
    });
    manager.socket?.write(encodeFrame(request));
  }

  #onData(chunk: Buffer): void {
    const reader = this.#reader;
    reader.push(chunk);
    guarded(() => this.#listener?.received());
    this.batch(() => {
      // A callback may end the connection, which also ends what is left of its bytes.
      while (reader === this.#reader) {
        try {
          const frame = reader.next();
          if (frame === null) return;
          this.#onFrame(frame);
        } catch (error) {
          this.cut(`bytes that are not the protocol's: ${(error as Error).message}`);
        }
      }
    });
  }

  #onFrame(frame: Buffer): void {
    const { state } = this.#manager;
    if (state === ManagerState.connecting) return this.#onHandshake(decodeConnectResponse(frame));
    if (state !== ManagerState.connected && state !== ManagerState.closing) return;
    const header = decodeReplyHeader(frame);
    switch (header.xid) {
      case xids.ping:
      case xids.setWatches:
        return;
      case xids.auth:
        if (header.err !== 0) return this.#onAuthRefused(header.err);
        // More answers than questions: an adopted client's owner has added credentials of its own.
        if (this.#authsUnanswered === 0 || --this.#authsUnanswered > 0) return;
        guarded(() => this.#listener?.up());
        return;
      case xids.event:
        return this.#onEvent(decodeWatcherEvent(frame.subarray(replyHeaderBytes)));
      default:
        return this.#onReply(header, frame);
    }
  }

  #onHandshake(response: ConnectResponse): void {
    const manager = this.#manager;
    this.#attemptSinceMs = null;
    if (response.timeoutMs <= 0) {
      guarded(() => manager.setState(ManagerState.sessionExpired));
      guarded(() => this.#listener?.expired());
      manager.socket?.destroy();
      return;
    }
    const id = Buffer.allocUnsafe(8);
    id.writeBigInt64BE(response.sessionId);
    manager.sessionId = id;
    manager.sessionPassword = Buffer.from(response.password);
    manager.updateTimeout(response.timeoutMs);
    manager.xid = 0; // nothing is in flight, so no xid can be taken for another
    this.#up = true;
    this.#authsUnanswered = manager.credentials.length;
    this.library.dropHousekeeping();
    this.batch(() => {
      for (const { scheme, auth } of manager.credentials) this.#sendAuth(scheme, auth);
      guarded(() => this.#listener?.greeted());
    });
    this.#outbox.flush();
    if (!this.#up) return;
    if (this.#dialer === null) {
      // The user's client keeps its idle ping: it is all it has once our session is closed.
      manager.socket?.setTimeout(manager.pingTimeout, () => manager.onSocketTimeout());
    }
    guarded(() => manager.setState(ManagerState.connected));
    guarded(() => manager.onPacketQueueReadable());
    if (this.#up) guarded(() => this.#listener?.up());
  }

  #sendAuth(scheme: string, auth: Buffer): void {
    const header = Buffer.allocUnsafe(8);
    header.writeInt32BE(xids.auth, 0);
    header.writeInt32BE(opCodes.auth, 4);
    this.#outbox.add(encodeFrame(header, encodeRequest("auth", { type: 0, scheme, auth })));
  }

  #onAuthRefused(code: number): void {
    this.#up = false;
    guarded(() => this.#manager.setState(ManagerState.authenticationFailed));
    guarded(() => this.#listener?.authFailed(libraryError(code)));
    this.#manager.socket?.destroy();
  }

  #onEvent(event: WatcherEvent): void {
    guarded(() => this.#listener?.event(event));
    this.library.event(event);
  }

  #onReply(header: ReplyHeader, frame: Buffer): void {
    const head = this.pending.peek();
    if (head === undefined) return this.cut(`an answer (xid ${header.xid}) to nothing that was asked`);
    const expected = head instanceof SentPacket ? head.xid : head.request.header?.xid;
    if (expected !== header.xid) return this.cut(`an answer out of turn: xid ${header.xid}, not ${expected}`);
    this.#dialer?.progress();
    if (header.zxid > 0n) frame.copy(this.#manager.zxid, 0, 4, 12);
    if (head instanceof SentPacket) {
      this.pending.shift();
      guarded(() => head.packet.answered(header, frame.subarray(replyHeaderBytes)));
    } else {
      this.library.answer(head, header, frame);
    }
  }

  #onDrain(): void {
    this.#outbox.flush();
    this.library.drained();
  }

  #onError(error: Error): void {
    this.#clearConnectTimer();
    this.#lastError = error;
  }

  #onClosed(): void {
    const manager = this.#manager;
    const wasUp = manager.state === ManagerState.connected || manager.state === ManagerState.closing;
    const packets = this.pending.drain();
    this.#up = false;
    this.#attemptSinceMs = null;
    this.#outbox.clear();
    this.#reader = new FrameReader();
    this.#clearConnectTimer();
    const { closeCode } = this.library;
    const code = closeCode ?? errorCodes.ConnectionLoss;
    const cause = this.#lastError;
    this.#lastError = null;
    guarded(() => manager.setState(ManagerState.disconnected));
    guarded(() => this.#listener?.down(cause, wasUp));
    for (const sent of packets) {
      if (sent instanceof SentPacket) guarded(() => sent.packet.unanswered());
      else this.library.unanswered(sent, code);
    }
    if (this.#stopped || closeCode !== undefined) {
      this.library.giveUpQueue(code);
      this.#end();
    } else if (this.#dialer !== null) {
      this.#dial(this.#dialer, wasUp);
    } else {
      manager.connect();
    }
  }

  #end(): void {
    this.#stopped = true;
    guarded(() => this.#manager.setState(ManagerState.closed));
    guarded(() => this.#listener?.over());
  }

  #takeXid(): number {
    const manager = this.#manager;
    if (manager.xid >= lastXid) manager.xid = 0;
    const { xid } = manager;
    manager.xid += 1;
    return xid;
  }

  #clearConnectTimer(): void {
    if (this.#manager.connectTimeoutHandler !== null) clearTimeout(this.#manager.connectTimeoutHandler);
  }
}
