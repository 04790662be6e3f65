import { createServer, type Server, type Socket } from "node:net";
import {
  type ConnectRequest,
  decodeConnectRequest,
  decodeRequest,
  decodeRequestHeader,
  encodeConnectResponse,
  encodeFrame,
  encodeReplyHeader,
  encodeResponse,
  encodeWatcherEvent,
  FrameReader,
  type OpName,
  opCodes,
  opNameOf,
  type RequestOf,
  type ResponseOf,
  requestHeaderBytes,
  syncConnectedState,
  type WatchEventType,
  xids,
} from "@holdfast/zk-protocol";
import { onTestFinished } from "vitest";

export interface ScriptedRequest {
  readonly xid: number;
  readonly op: OpName;
  readonly body: Buffer;
  /** When it arrived. */
  readonly atMs: number;
}

/** The calls of a test on one connection. Frames are collected, and `flush` sends them in one chunk. */
export class ScriptedConnection {
  readonly socket: Socket;
  readonly requests: ScriptedRequest[] = [];
  /** The number of bytes in each chunk as it arrived. */
  readonly chunks: number[] = [];
  handshake: ConnectRequest | null = null;
  /** Answers the handshake with a session. */
  readonly welcome: () => void;
  readonly #frames: Buffer[] = [];

  constructor(socket: Socket, server: ScriptedServer) {
    this.socket = socket;
    this.welcome = () => this.greet(server.timeoutMs, server.sessionId);
  }

  greet(timeoutMs: number, sessionId: bigint): void {
    const password = Buffer.alloc(16, sessionId === 0n ? 0 : 7);
    const response = { protocolVersion: 0, timeoutMs, sessionId, password, readOnly: false };
    this.raw(encodeFrame(encodeConnectResponse(response))).flush();
  }

  /** The `op` of each request so far, except pings. */
  get ops(): OpName[] {
    return this.requests.map((request) => request.op).filter((op) => op !== "ping");
  }

  reply<K extends OpName>(xid: number, op: K, response: ResponseOf<K>, zxid: bigint = 1n): this {
    this.#frames.push(encodeFrame(encodeReplyHeader({ xid, zxid, err: 0 }), encodeResponse(op, response)));
    return this;
  }

  refuse(xid: number, err: number, zxid: bigint = 1n): this {
    this.#frames.push(encodeFrame(encodeReplyHeader({ xid, zxid, err })));
    return this;
  }

  event(type: WatchEventType, path: string): this {
    const body = encodeWatcherEvent({ type, state: syncConnectedState, path });
    this.#frames.push(encodeFrame(encodeReplyHeader({ xid: xids.event, zxid: -1n, err: 0 }), body));
    return this;
  }

  raw(frame: Buffer): this {
    this.#frames.push(frame);
    return this;
  }

  flush(): void {
    if (this.#frames.length > 0) this.socket.write(Buffer.concat(this.#frames.splice(0)));
  }
}

/** A server that does on demand what no real server does. By default it answers keep-alives, pings and the end. */
export class ScriptedServer {
  readonly connections: ScriptedConnection[] = [];
  timeoutMs = 2_000;
  sessionId = 0x1234n;
  /** `null`: the handshake gets no answer. `"expired"`: the answer has time-out 0. */
  greet: (connection: ScriptedConnection, request: ConnectRequest) => "welcome" | "expired" | null = () =>
    "welcome";
  /** `true`: the request was handled here. Otherwise the default answer is given. */
  onRequest: (request: ScriptedRequest, connection: ScriptedConnection) => boolean | undefined = () => false;
  #server!: Server;

  static async start(): Promise<ScriptedServer> {
    const scripted = new ScriptedServer();
    scripted.#server = createServer((socket) => scripted.#accept(socket));
    await new Promise<void>((resolve) => scripted.#server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => scripted.stop());
    return scripted;
  }

  get port(): number {
    return (this.#server.address() as { port: number }).port;
  }

  get connectString(): string {
    return `127.0.0.1:${this.port}`;
  }

  get last(): ScriptedConnection {
    const last = this.connections.at(-1);
    if (last === undefined) throw new Error("nobody has connected yet");
    return last;
  }

  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const { socket } of this.connections) socket.destroy();
    await closed;
  }

  /** Answers as a server on which nothing exists and everything may be created. */
  answer(request: ScriptedRequest, connection: ScriptedConnection): void {
    const { xid, op } = request;
    if (op === "ping") connection.reply(xids.ping, "ping", undefined, 1n);
    else if (op === "auth") connection.reply(xid, "auth", undefined, 0n);
    else if (op === "sync") connection.reply(xid, "sync", decodeRequest("sync", request.body));
    else if (op === "multi") connection.reply(xid, "multi", { results: [] }, 2n);
    else if (op === "setWatches" || op === "removeWatches" || op === "delete")
      connection.reply(xid, op, undefined);
    else if (op === "closeSession") connection.reply(xid, op, undefined);
    else if (op === "getData") connection.reply(xid, op, { data: null, stat: someStat });
    else if (op === "exists") connection.reply(xid, op, { stat: someStat });
    else connection.refuse(xid, -101);
    connection.flush();
    if (op === "closeSession") connection.socket.end();
  }

  #accept(socket: Socket): void {
    const connection = new ScriptedConnection(socket, this);
    socket.setNoDelay(true);
    this.connections.push(connection);
    const reader = new FrameReader();
    socket.on("error", () => {});
    socket.on("data", (chunk: Buffer) => {
      connection.chunks.push(chunk.length);
      reader.push(chunk);
      for (let frame = reader.next(); frame !== null; frame = reader.next()) this.#frame(frame, connection);
    });
  }

  #frame(frame: Buffer, connection: ScriptedConnection): void {
    if (connection.handshake === null) {
      connection.handshake = decodeConnectRequest(frame);
      const verdict = this.greet(connection, connection.handshake);
      if (verdict === null) return;
      if (verdict === "welcome") connection.welcome();
      else connection.greet(0, 0n);
      return;
    }
    const { xid, type } = decodeRequestHeader(frame);
    const op = opNameOf(type);
    if (op === undefined) throw new Error(`unknown operation ${type}, of ${Object.keys(opCodes).length}`);
    const request = { xid, op, body: frame.subarray(requestHeaderBytes), atMs: performance.now() };
    connection.requests.push(request);
    if (this.onRequest(request, connection) !== true) this.answer(request, connection);
  }
}

export const someStat: ResponseOf<"exists">["stat"] = {
  czxid: 1n,
  mzxid: 1n,
  ctime: 0n,
  mtime: 0n,
  version: 0,
  cversion: 0,
  aversion: 0,
  ephemeralOwner: 0n,
  dataLength: 0,
  numChildren: 0,
  pzxid: 1n,
};

/** The path of a request of a kind that has one. */
export function pathOf(request: ScriptedRequest): string {
  return decodeRequest(request.op as "exists" | "sync", request.body).path as string &
    RequestOf<"sync">["path"];
}
