import { connect, type Socket } from "node:net";
import {
  type ConnectResponse,
  CreateFlags,
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
  openAcl,
  type RequestOf,
  type ResponseOf,
  type WatcherEvent,
  xids,
} from "@holdfast/zk-protocol";
import { eventually } from "../../src/index.js";

export interface WireClientOptions {
  /** The session to take up again. */
  session?: { sessionId: bigint; password: Uint8Array };
  timeoutMs?: number;
}

export interface Reply<K extends OpName> {
  xid: number;
  zxid: bigint;
  err: number;
  /** Undefined when the server answered with an error. */
  response: ResponseOf<K> | undefined;
}

interface Waiting {
  xid: number;
  op: OpName;
  resolve: (reply: Reply<OpName>) => void;
  reject: (error: Error) => void;
}

/** The simplest client of a ZooKeeper server: no keep-alive, no reconnect. */
export class WireClient {
  readonly events: WatcherEvent[] = [];
  /** Resolves when the connection has ended, in whatever way. */
  readonly closed: Promise<void>;
  readonly #socket: Socket;
  readonly #frames = new FrameReader();
  readonly #waiting: Waiting[] = [];
  #handshake: ConnectResponse | undefined;
  #ended = false;
  #xid = 0;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on("data", (chunk) => {
      this.#frames.push(chunk);
      for (let frame = this.#frames.next(); frame !== null; frame = this.#frames.next()) this.#take(frame);
    });
    socket.on("error", () => {}); // "close" follows
    this.closed = new Promise((resolve) => {
      socket.on("close", () => {
        this.#ended = true;
        for (const waiting of this.#waiting.splice(0)) waiting.reject(new Error("connection lost"));
        resolve();
      });
    });
  }

  /** Resolves when the handshake was answered with a session. */
  static async connect(connectString: string, options: WireClientOptions = {}): Promise<WireClient> {
    const client = WireClient.open(connectString, options);
    await eventually(() => client.#handshake !== undefined || client.#ended, { what: "the handshake" });
    if (client.#handshake === undefined) throw new Error("connection lost in the handshake");
    if (client.#handshake.timeoutMs <= 0) throw new Error("session expired");
    return client;
  }

  /** Sends the handshake and does not wait. */
  static open(connectString: string, options: WireClientOptions = {}): WireClient {
    const [host = "", port] = connectString.split(":");
    const client = new WireClient(connect({ host, port: Number(port) }));
    client.#socket.write(
      encodeFrame(
        encodeConnectRequest({
          protocolVersion: 0,
          lastZxidSeen: 0n,
          timeoutMs: options.timeoutMs ?? 5_000,
          sessionId: options.session?.sessionId ?? 0n,
          password: options.session?.password ?? Buffer.alloc(16),
          readOnly: false,
        }),
      ),
    );
    return client;
  }

  get session(): ConnectResponse {
    if (this.#handshake === undefined) throw new Error("no handshake yet");
    return this.#handshake;
  }

  get ended(): boolean {
    return this.#ended;
  }

  send<K extends OpName>(op: K, request: RequestOf<K>): Promise<Reply<K>> {
    return this.batch([op, request])[0] as Promise<Reply<K>>;
  }

  /** Sends several requests in one write. */
  batch(...requests: (readonly [OpName, RequestOf<OpName>])[]): Promise<Reply<OpName>>[] {
    const frames: Buffer[] = [];
    const replies = requests.map(([op, request]) => {
      const xid = op === "ping" ? xids.ping : ++this.#xid;
      frames.push(encodeFrame(encodeRequestHeader({ xid, type: opCodes[op] }), encodeRequest(op, request)));
      return new Promise<Reply<OpName>>((resolve, reject) =>
        this.#waiting.push({ xid, op, resolve, reject }),
      );
    });
    // A reply that the test does not look at must not fail it.
    for (const reply of replies) reply.catch(() => {});
    this.#socket.write(Buffer.concat(frames));
    return replies;
  }

  async create(path: string, flags: number = CreateFlags.persistent): Promise<string> {
    const reply = await this.send("create", { path, data: null, acl: openAcl, flags });
    if (reply.response === undefined) throw new Error(`create ${path}: error ${reply.err}`);
    return reply.response.path;
  }

  async exists(path: string): Promise<boolean> {
    const reply = await this.send("exists", { path, watch: false });
    return reply.err === 0;
  }

  write(bytes: Uint8Array): void {
    this.#socket.write(bytes);
  }

  async close(): Promise<void> {
    this.#socket.destroy();
    await this.closed;
  }

  #take(frame: Buffer): void {
    if (this.#handshake === undefined) {
      this.#handshake = decodeConnectResponse(frame);
      return;
    }
    const { xid, zxid, err } = decodeReplyHeader(frame);
    if (xid === xids.event) {
      this.events.push(decodeWatcherEvent(frame.subarray(16)));
      return;
    }
    const at = this.#waiting.findIndex((waiting) => waiting.xid === xid);
    const waiting = this.#waiting.splice(at === -1 ? this.#waiting.length : at, 1)[0];
    if (waiting === undefined) throw new Error(`reply with xid ${xid} to nothing`);
    const response = err === 0 ? decodeResponse(waiting.op, frame.subarray(16)) : undefined;
    waiting.resolve({ xid, zxid, err, response });
  }
}
