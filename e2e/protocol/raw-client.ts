import { once } from "node:events";
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
  type ReplyHeader,
  type RequestOf,
  type ResponseOf,
  replyHeaderBytes,
  type WatcherEvent,
  xids,
} from "@holdfast/zk-protocol";

export interface Reply<K extends OpName> {
  readonly header: ReplyHeader;
  /** Undefined when `header.err` is not 0. */
  readonly response: ResponseOf<K> | undefined;
}

interface Waiting {
  settle(frame: Buffer): void;
  reject(error: Error): void;
}

/** The smallest client that shows whether a server and the codec understand each other. */
export class RawClient {
  readonly session: ConnectResponse;
  /** The events in the order in which they came. */
  readonly events: WatcherEvent[] = [];
  readonly #socket: Socket;
  readonly #reader: FrameReader;
  readonly #waiting: Waiting[] = [];
  #xid = 0;

  private constructor(socket: Socket, reader: FrameReader, session: ConnectResponse) {
    this.#socket = socket;
    this.#reader = reader;
    this.session = session;
    socket.on("data", (chunk: Buffer) => {
      reader.push(chunk);
      this.#drain();
    });
    socket.on("error", () => this.#end());
    socket.on("close", () => this.#end());
  }

  static async open(port: number, request: Partial<ConnectRequest> = {}): Promise<RawClient> {
    const socket = connect(port, "127.0.0.1");
    await once(socket, "connect");
    const full: ConnectRequest = {
      protocolVersion: 0,
      lastZxidSeen: 0n,
      timeoutMs: 5000,
      sessionId: 0n,
      password: new Uint8Array(passwordLength),
      readOnly: false,
      ...request,
    };
    socket.write(encodeFrame(encodeConnectRequest(full)));
    const reader = new FrameReader();
    let frame = reader.next();
    while (frame === null) {
      const [chunk] = (await once(socket, "data")) as [Buffer];
      reader.push(chunk);
      frame = reader.next();
    }
    return new RawClient(socket, reader, decodeConnectResponse(frame));
  }

  send<K extends OpName>(op: K, request: RequestOf<K>): Promise<Reply<K>> {
    const xid = op === "ping" ? xids.ping : ++this.#xid;
    const header = encodeRequestHeader({ xid, type: opCodes[op] });
    this.#socket.write(encodeFrame(header, encodeRequest(op, request)));
    return new Promise((resolve, reject) => {
      this.#waiting.push({
        reject,
        settle(frame) {
          const reply = decodeReplyHeader(frame);
          if (reply.xid !== xid) {
            reject(new Error(`reply ${reply.xid} where ${xid} was due`));
            return;
          }
          const body = frame.subarray(replyHeaderBytes);
          resolve({ header: reply, response: reply.err === 0 ? decodeResponse(op, body) : undefined });
        },
      });
    });
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #drain(): void {
    for (let frame = this.#reader.next(); frame !== null; frame = this.#reader.next()) {
      if (decodeReplyHeader(frame).xid === xids.event) {
        this.events.push(decodeWatcherEvent(frame.subarray(replyHeaderBytes)));
      } else {
        this.#waiting.shift()?.settle(frame);
      }
    }
  }

  #end(): void {
    for (const waiting of this.#waiting.splice(0)) {
      waiting.reject(new Error("the server closed the connection"));
    }
  }
}
