import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import {
  decodeRequestHeader,
  encodeConnectResponse,
  encodeFrame,
  encodeReplyHeader,
  encodeResponse,
  encodeWatcherEvent,
  FrameReader,
  type OpName,
  opNameOf,
  type ResponseOf,
  type WatcherEvent,
  xids,
} from "@holdfast/zk-protocol";
import { eventually, freePort } from "../../src/index.js";

/** Does the handshake like a ZooKeeper server. After that it answers only what the test tells it to, and when. */
export class ScriptedServer {
  readonly connectString: string;
  readonly connections: ScriptedConnection[] = [];
  readonly #listener = createServer((socket) => this.connections.push(new ScriptedConnection(socket)));

  private constructor(port: number) {
    this.connectString = `127.0.0.1:${port}`;
    this.#listener.listen(port, "127.0.0.1");
  }

  static async start(): Promise<ScriptedServer> {
    const server = new ScriptedServer(await freePort());
    await once(server.#listener, "listening");
    return server;
  }

  /** The latest connection. */
  get last(): ScriptedConnection {
    const last = this.connections.at(-1);
    if (last === undefined) throw new Error("nobody has connected");
    return last;
  }

  async close(): Promise<void> {
    for (const { socket } of this.connections) socket.destroy();
    this.#listener.close();
    await once(this.#listener, "close");
  }
}

export class ScriptedConnection {
  readonly socket: Socket;
  /** Requests that have arrived, answered or not. */
  readonly requests: { xid: number; op: OpName | undefined }[] = [];
  readonly #frames = new FrameReader();
  #greeted = false;

  constructor(socket: Socket) {
    this.socket = socket;
    socket.setNoDelay(true);
    socket.on("error", () => {}); // the tests are about cuts
    socket.on("data", (chunk) => {
      this.#frames.push(chunk);
      for (let frame = this.#frames.next(); frame !== null; frame = this.#frames.next()) {
        if (this.#greeted) {
          const { xid, type } = decodeRequestHeader(frame);
          this.requests.push({ xid, op: opNameOf(type) });
        } else {
          this.#greeted = true;
          socket.write(
            encodeFrame(
              encodeConnectResponse({
                protocolVersion: 0,
                timeoutMs: 5_000,
                sessionId: 0x100_0000_0000_0001n,
                password: Buffer.alloc(16, 7),
                readOnly: false,
              }),
            ),
          );
        }
      }
    });
  }

  /** Waits until `count` requests have arrived in total. */
  async heard(count: number): Promise<void> {
    await eventually(() => this.requests.length >= count, {
      what: `${count} requests at the server`,
      everyMs: 1,
    });
  }

  reply<K extends OpName>(op: K, xid: number, response: ResponseOf<K>): void {
    this.socket.write(ScriptedConnection.replyFrame(op, xid, response));
  }

  fail(xid: number, err: number): void {
    this.socket.write(encodeFrame(encodeReplyHeader({ xid, zxid: 9n, err })));
  }

  event(event: Pick<WatcherEvent, "type" | "path">): void {
    const header = encodeReplyHeader({ xid: xids.event, zxid: -1n, err: 0 });
    this.socket.write(encodeFrame(header, encodeWatcherEvent({ ...event, state: 3 })));
  }

  static replyFrame<K extends OpName>(op: K, xid: number, response: ResponseOf<K>): Buffer {
    return encodeFrame(encodeReplyHeader({ xid, zxid: 9n, err: 0 }), encodeResponse(op, response));
  }
}
