import { connect, type Socket } from "node:net";
import {
  type ConnectRequest,
  type ConnectResponse,
  decodeConnectResponse,
  decodeReplyHeader,
  decodeResponse,
  decodeWatcherEvent,
  encodeConnectRequest,
  encodeFrame,
  encodeRequest,
  encodeRequestHeader,
  FrameReader,
  type OpName,
  opCodes,
  passwordLength,
  type RequestOf,
  type ResponseOf,
  replyHeaderBytes,
  type WatcherEvent,
  xids,
} from "@holdfast/zk-protocol";
import { eventually } from "../../../src/index.js";

/** The address of a server. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

export interface Reply<K extends OpName = OpName> {
  readonly xid: number;
  readonly zxid: bigint;
  readonly err: number;
  readonly response: ResponseOf<K> | undefined;
  /** The place of the reply among all frames of the connection, events included. */
  readonly place: number;
}

export interface PlacedEvent extends WatcherEvent {
  readonly place: number;
  readonly zxid: bigint;
  readonly hex: string;
}

interface Waiting {
  readonly op: OpName;
  readonly resolve: (reply: Reply) => void;
  readonly reject: (error: Error) => void;
}

export function connectFrame(request: Partial<ConnectRequest> = {}): Buffer {
  const full = {
    protocolVersion: 0,
    lastZxidSeen: 0n,
    timeoutMs: 5_000,
    sessionId: 0n,
    password: new Uint8Array(passwordLength),
    readOnly: false,
    ...request,
  };
  return encodeFrame(encodeConnectRequest(full));
}

export function requestFrame<K extends OpName>(xid: number, op: K, request: RequestOf<K>): Buffer {
  return encodeFrame(encodeRequestHeader({ xid, type: opCodes[op] }), encodeRequest(op, request));
}

/** A socket that counts the frames and bytes that arrive. */
export class RawSocket {
  readonly frames: Buffer[] = [];
  /** Bytes received, including the lengths of the frames. */
  bytes = 0;
  /** The server has sent FIN, or the connection is gone. */
  ended = false;
  readonly socket: Socket;
  readonly #reader = new FrameReader();

  constructor(address: Address) {
    this.socket = connect({ host: address.host, port: address.port, allowHalfOpen: true });
    this.socket.setNoDelay(true);
    this.socket.on("data", (chunk) => {
      this.bytes += chunk.length;
      this.#reader.push(chunk);
      for (let frame = this.#reader.next(); frame !== null; frame = this.#reader.next()) this.onFrame(frame);
    });
    this.socket.on("end", () => this.onEnd());
    this.socket.on("error", () => this.onEnd());
    this.socket.on("close", () => this.onEnd());
  }

  write(...parts: readonly Uint8Array[]): void {
    this.socket.write(Buffer.concat(parts));
  }

  /** Resolves when the server has closed the connection. */
  async closed(): Promise<void> {
    await eventually(() => this.ended, { what: "the server to close the connection", everyMs: 3 });
  }

  async frame(index: number): Promise<Buffer> {
    return eventually(() => this.frames[index], { what: `frame ${index}`, everyMs: 3 });
  }

  destroy(): void {
    this.socket.destroy();
  }

  onFrame(frame: Buffer): void {
    this.frames.push(frame);
  }

  onEnd(): void {
    this.ended = true;
  }
}

/** A session on one connection, without keep-alive. It is strict: replies must come in order. */
export class Wire extends RawSocket {
  readonly events: PlacedEvent[] = [];
  readonly #waiting: Waiting[] = [];
  #handshake: ConnectResponse | undefined;
  #place = 0;
  #xid = 0;

  static async open(address: Address, request: Partial<ConnectRequest> = {}): Promise<Wire> {
    const wire = Wire.start(address, request);
    await eventually(() => wire.#handshake !== undefined || wire.ended, {
      what: "the handshake",
      everyMs: 3,
    });
    return wire;
  }

  /** Sends the handshake and `more` in one segment, and does not wait. */
  static start(address: Address, request: Partial<ConnectRequest> = {}, ...more: Uint8Array[]): Wire {
    const wire = new Wire(address);
    wire.write(connectFrame(request), ...more);
    return wire;
  }

  get session(): ConnectResponse {
    if (this.#handshake === undefined) throw new Error("no handshake");
    return this.#handshake;
  }

  get greeted(): boolean {
    return this.#handshake !== undefined;
  }

  /** What another connection needs to take up this session. */
  get credentials(): { sessionId: bigint; password: Uint8Array } {
    return { sessionId: this.session.sessionId, password: this.session.password };
  }

  ask<K extends OpName>(op: K, request: RequestOf<K>, xid?: number): Promise<Reply<K>> {
    return this.askAll([op, request, xid])[0] as Promise<Reply<K>>;
  }

  /** Sends several requests in one segment. */
  askAll(...requests: (readonly [OpName, RequestOf<OpName>, (number | undefined)?])[]): Promise<Reply>[] {
    const frames: Buffer[] = [];
    const replies = requests.map(([op, request, xid = ++this.#xid]) => {
      frames.push(requestFrame(xid, op, request));
      return this.expect(op);
    });
    this.write(...frames);
    return replies;
  }

  /** The next reply, for a request that the test writes itself. Rejects when the server closes or has closed the connection. */
  expect<K extends OpName>(op: K): Promise<Reply<K>> {
    const reply = new Promise<Reply>((resolve, reject) => {
      if (this.ended) reject(new Error("the server closed the connection"));
      else this.#waiting.push({ op, resolve, reject });
    });
    reply.catch(() => {}); // a caller that does not await it ignores its failure
    return reply as Promise<Reply<K>>;
  }

  async event(index: number): Promise<PlacedEvent> {
    return eventually(() => this.events[index], {
      what: `event ${index} of ${JSON.stringify(this.types)}`,
      everyMs: 3,
    });
  }

  /** The events as texts like `deleted /a`, in the order of arrival. */
  get types(): string[] {
    return this.events.map(({ type, path }) => `${type} ${path}`);
  }

  override onFrame(frame: Buffer): void {
    super.onFrame(frame);
    this.#place += 1;
    if (this.#handshake === undefined) {
      this.#handshake = decodeConnectResponse(frame);
      return;
    }
    const { xid, zxid, err } = decodeReplyHeader(frame);
    if (xid === xids.event) {
      const event = decodeWatcherEvent(frame.subarray(replyHeaderBytes));
      this.events.push({ ...event, zxid, place: this.#place, hex: frame.toString("hex") });
      return;
    }
    const waiting = this.#waiting.shift();
    if (waiting === undefined) throw new Error(`reply ${xid} to nothing`);
    const response = err === 0 ? decodeResponse(waiting.op, frame.subarray(replyHeaderBytes)) : undefined;
    waiting.resolve({ xid, zxid, err, response, place: this.#place });
  }

  override onEnd(): void {
    super.onEnd();
    for (const waiting of this.#waiting.splice(0))
      waiting.reject(new Error("the server closed the connection"));
  }
}
