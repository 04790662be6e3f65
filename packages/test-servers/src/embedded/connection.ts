import type { Socket } from "node:net";
import { FrameReader, maxRequestBytes, ProtocolError, requestHeaderBytes } from "@holdfast/zk-protocol";
import { resetSocket } from "../reset-socket.js";
import { type Identity, ipIdentity } from "./acl.js";
import type { Clock } from "./clock.js";
import type { Gate } from "./gate.js";
import { Outbox } from "./outbox.js";
import type { Client, View } from "./state.js";
import type { Notice } from "./watches.js";

const startTimer = globalThis.setTimeout;
/** How long a peer may take to close its side after the server has. */
const lingerMs = 2_000;
/** Unread by the peer: more than this and the connection goes, rather than the memory. */
const maxUnreadBytes = 268_435_456;
/** Unread by the peer: with more than this no further request of it is read. */
const chokeBytes = 8_388_608;

/** What a connection needs of its server. */
export interface ConnectionHost {
  readonly clock: Clock;
  /** Nothing is read or written while it is true. */
  readonly paused: boolean;
  /** The first four bytes are a word of the four-letter kind: true if it was answered. */
  answersWord(connection: Connection, word: string): boolean;
  onHandshake(connection: Connection, frame: Buffer): void;
  onFrame(connection: Connection, frame: Buffer): void;
  onNotice(connection: Connection, notice: Notice): void;
  /** Has `flush` called soon, once for all that is sent until then. */
  flushSoon(connection: Connection): void;
  /** All frames of one chunk are through. */
  onBatchEnd(): void;
  /** The connection serves its client no longer; its socket may still be there. */
  onClosed(connection: Connection): void;
  /** Its socket is gone as well. */
  onGone(connection: Connection): void;
}

/** One socket: cuts frames, keeps both directions in order, and closes in the ways a server does. */
export class Connection implements Client {
  readonly identities: Identity[];
  readonly outbox: Outbox;
  readonly number: number;
  readonly openedAtMs: number;
  /** 0n before the handshake. */
  sessionId = 0n;
  view: View | undefined;
  losesWatch = false;
  /** The session has moved on to another connection; this one may only read. */
  moved = false;
  /** Handshakes and frames are read; false before the first frame. */
  greeted = false;
  received = 0;
  sent = 0;
  lastOp = "NA";
  lastXid = 0;
  lastZxid = 0n;
  readonly #host: ConnectionHost;
  readonly #socket: Socket;
  readonly #reader = new FrameReader({ maxFrameBytes: maxRequestBytes });
  #first: Buffer | undefined = Buffer.alloc(0);
  #blocked: Gate | undefined;
  #stopped = false;
  #closed = false;
  #draining = false;
  /** Sent since the last flush. */
  #unflushedBytes = 0;
  /** The client reads more slowly than it asks: nothing more is read from it until it has caught up. */
  #choked = false;

  constructor(host: ConnectionHost, socket: Socket, number: number) {
    this.#host = host;
    this.#socket = socket;
    this.number = number;
    this.openedAtMs = host.clock.nowMs();
    this.identities = [ipIdentity(socket.remoteAddress ?? "")];
    this.outbox = new Outbox({
      clock: host.clock,
      isPaused: () => host.paused,
      write: (bytes) => this.#write(bytes),
      emptied: () => {
        if (this.#draining) this.#finish();
      },
    });
    socket.setNoDelay(true);
    socket.on("data", (chunk: Buffer) => this.#onChunk(chunk));
    // The peer's end: replies that have not gone are not sent any more, applied or not.
    socket.on("end", () => this.close("drop"));
    socket.on("error", () => this.close("reset")); // "close" follows
    socket.on("close", () => {
      this.close("drop");
      host.onGone(this);
    });
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** `127.0.0.1:50000`, of the client. */
  get peer(): string {
    return `${(this.#socket.remoteAddress ?? "").replace(/^::ffff:/, "")}:${this.#socket.remotePort ?? 0}`;
  }

  deliver(notice: Notice): void {
    if (!this.#closed) this.#host.onNotice(this, notice);
  }

  /** Queues one frame behind all others. */
  send(frame: Buffer): void {
    if (this.#closed) return;
    this.sent += 1;
    this.outbox.push(frame);
    this.#unflushedBytes += frame.length;
    this.#host.flushSoon(this);
  }

  flush(): void {
    this.#unflushedBytes = 0;
    if (!this.#closed || this.#draining) this.outbox.flush();
  }

  /** Reads no further until the gate opens; then runs `then`, if the connection is still there, and reads on. */
  block(gate: Gate, then: () => void): void {
    this.#blocked = gate;
    gate.onOpen(() => {
      if (this.#blocked === gate) this.#blocked = undefined;
      if (this.#closed) return;
      then();
      this.work();
    });
  }

  /** Leaves arriving bytes where they are, so that the client's writes pile up. */
  stopReading(): void {
    this.#stopped = true;
    this.#socket.pause();
  }

  readAgain(): void {
    this.#stopped = false;
    this.resume();
  }

  /** Called when the server pauses. */
  pause(): void {
    this.#socket.pause();
  }

  /** Called when the server goes on. */
  resume(): void {
    if (this.#host.paused || this.#stopped || this.#choked) return;
    this.#socket.resume();
    this.work();
    this.flush();
  }

  /**
   * `flush` sends what is queued and then FIN, `drop` FIN alone, `reset` RST, and `mute` nothing at all:
   * the socket stays open and deaf, like one behind a firewall that has forgotten it.
   */
  close(how: "flush" | "drop" | "reset" | "mute"): void {
    if (this.#closed) {
      if (how === "reset") resetSocket(this.#socket);
      return;
    }
    if (how === "flush") this.outbox.flush();
    this.#closed = true;
    this.#host.onClosed(this);
    if (how === "flush" && this.outbox.queued > 0) {
      this.#draining = true; // something holds the rest up; the FIN comes behind it
      return;
    }
    this.outbox.clear();
    if (how === "reset") resetSocket(this.#socket);
    else if (how === "mute") this.#socket.pause();
    else this.#finish();
  }

  #finish(): void {
    this.#draining = false;
    if (this.#socket.destroyed) return;
    // What the client still sends is read and thrown away: unread bytes would turn the FIN into an RST.
    this.#socket.end();
    this.#socket.resume();
    startTimer(() => this.#socket.destroy(), lingerMs).unref();
  }

  /** Frees the socket for good. */
  destroy(): void {
    this.close("drop");
    this.#draining = false;
    this.#socket.destroy();
  }

  /** Handles the frames that are there, as far as nothing holds them up. */
  work(): void {
    try {
      while (!this.#closed && this.#blocked === undefined && !this.#host.paused && !this.#choked) {
        const frame = this.#reader.next();
        if (frame === null) break;
        this.#onFrame(frame);
        // One segment can ask for a gigabyte: what it gets must not pile up until the end of the batch.
        if (this.#unflushedBytes > chokeBytes) this.flush();
      }
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      this.close("flush");
    }
    this.#host.onBatchEnd();
  }

  #onChunk(chunk: Buffer): void {
    if (this.#closed) return;
    const bytes = this.#first === undefined ? chunk : this.#beginning(this.#first, chunk);
    if (bytes === undefined) return;
    this.#reader.push(bytes);
    this.work();
  }

  /** The first four bytes may be a word. Undefined while they are not all there, or when they were one. */
  #beginning(first: Buffer, chunk: Buffer): Buffer | undefined {
    const bytes = first.length === 0 ? chunk : Buffer.concat([first, chunk]);
    if (bytes.length < 4) {
      this.#first = bytes;
      return undefined;
    }
    this.#first = undefined;
    return this.#host.answersWord(this, bytes.toString("latin1", 0, 4)) ? undefined : bytes;
  }

  #onFrame(frame: Buffer): void {
    this.received += 1;
    if (!this.greeted) {
      this.greeted = true;
      this.#host.onHandshake(this, frame);
    } else if (frame.length < requestHeaderBytes) {
      this.close("flush");
    } else {
      this.#host.onFrame(this, frame);
    }
  }

  #write(bytes: Buffer): void {
    if (this.#socket.writableLength > maxUnreadBytes) this.close("reset");
    else if (this.#socket.writable) this.#socket.write(bytes);
    if (this.#choked || this.#socket.writableLength <= chokeBytes) return;
    this.#choked = true;
    this.#socket.pause();
    this.#socket.once("drain", () => {
      this.#choked = false;
      if (!this.#closed) this.resume();
    });
  }
}
