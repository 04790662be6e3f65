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
/** How long a peer may take to close its side after the server has closed its own. */
const lingerMs = 2_000;
/** If the peer leaves more than this unread, the connection is reset, because the memory would run out. */
const maxUnreadBytes = 268_435_456;
/** If the peer leaves more than this unread, no further request of it is read. */
const chokeBytes = 8_388_608;

/** What a connection needs of its server. */
export interface ConnectionHost {
  readonly clock: Clock;
  /** While this is true, the server neither reads nor writes. */
  readonly paused: boolean;
  /** Is given the first four bytes, which may be a four-letter word. Returns true if it answered the word. */
  answersWord(connection: Connection, word: string): boolean;
  onHandshake(connection: Connection, frame: Buffer): void;
  onFrame(connection: Connection, frame: Buffer): void;
  onNotice(connection: Connection, notice: Notice): void;
  /** Makes sure that `flush` is called soon, once for all frames that are sent until then. */
  flushSoon(connection: Connection): void;
  /** All frames of one chunk have been handled. */
  onBatchEnd(): void;
  /** The connection no longer serves its client; its socket may still exist. */
  onClosed(connection: Connection): void;
  /** The socket of the connection is gone as well. */
  onGone(connection: Connection): void;
}

/** One socket: splits the bytes into frames, keeps both directions in order, and closes in the ways a server does. */
export class Connection implements Client {
  readonly identities: Identity[];
  readonly outbox: Outbox;
  readonly number: number;
  readonly openedAtMs: number;
  /** 0n before the handshake. */
  sessionId = 0n;
  view: View | undefined;
  losesWatch = false;
  /** True when the session has moved to another connection; this one may then only read. */
  moved = false;
  /** False until the first frame, the handshake, has been read. */
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
  /** The bytes sent since the last flush. */
  #unflushedBytes = 0;
  /** True while the client reads too slowly: nothing more is read from it until it has caught up. */
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
    // The peer has ended its side: replies that are still here are not sent, whether or not their requests were
    // applied.
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

  /** The address of the client, such as `127.0.0.1:50000`. */
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

  /**
   * Handles no further frame until the gate opens. If the connection still serves its client then, calls `then` and
   * continues.
   */
  block(gate: Gate, then: () => void): void {
    this.#blocked = gate;
    gate.onOpen(() => {
      if (this.#blocked === gate) this.#blocked = undefined;
      if (this.#closed) return;
      then();
      this.work();
    });
  }

  /** Leaves arriving bytes in the socket, so that the client's writes pile up. */
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
   * `flush` sends what is queued and then FIN. `drop` sends only FIN. `reset` sends RST. `mute` sends nothing at all:
   * the socket stays open and reads nothing, like one behind a firewall that has forgotten the connection.
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
      this.#draining = true; // a gate holds up the rest; the FIN follows it
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

  /** Handles the frames that have arrived, until something holds them up. */
  work(): void {
    try {
      while (!this.#closed && this.#blocked === undefined && !this.#host.paused && !this.#choked) {
        const frame = this.#reader.next();
        if (frame === null) break;
        this.#onFrame(frame);
        // One segment of requests can ask for a gigabyte. Its replies must not pile up until the end of the batch.
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

  /**
   * The first four bytes may be a word. Returns undefined while fewer have come, or when they were a word that was
   * answered.
   */
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
