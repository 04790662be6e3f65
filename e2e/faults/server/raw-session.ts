import { connect, type Socket } from "node:net";
import {
  type ConnectResponse,
  decodeConnectResponse,
  decodeReplyHeader,
  decodeResponse,
  decodeWatcherEvent,
  encodeConnectRequest,
  encodeFrame,
  encodeRequest,
  encodeRequestHeader,
  errorCodes,
  errorName,
  FrameReader,
  joinPath,
  multiFailure,
  type OpName,
  opCodes,
  passwordLength,
  type RequestOf,
  type ResponseOf,
  replyHeaderBytes,
  type Stat,
  xids,
} from "@holdfast/zk-protocol";

export interface RawReply<K extends OpName> {
  readonly err: number;
  readonly zxid: bigint;
  /** Undefined if the server answered with an error. */
  readonly response: ResponseOf<K> | undefined;
}

interface Waiting {
  settle(frame: Buffer): void;
  reject(error: Error): void;
}

const pingEveryMs = 100;

class UnknownSession extends Error {}
class ConnectionClosed extends Error {}

/**
 * An operator with its own connection to the server, which uses none of our client code. It lists, deletes and writes nodes,
 * and ends the sessions of other clients. It never reconnects. So its view of the server does not depend on the tested code.
 */
export class RawSession {
  readonly handshake: ConnectResponse;
  /** The watched nodes that were deleted, in the order in which the server deleted them. */
  readonly deleted: string[] = [];
  readonly #socket: Socket;
  readonly #reader: FrameReader;
  readonly #waiting: Waiting[] = [];
  readonly #pings: NodeJS.Timeout;
  #ended: Error | null = null;
  #xid = 0;

  private constructor(socket: Socket, reader: FrameReader, handshake: ConnectResponse) {
    this.#socket = socket;
    this.#reader = reader;
    this.handshake = handshake;
    // The pings are frequent, because a server of a 3.8.0 ensemble may keep back an answer until something else arrives.
    this.#pings = setInterval(() => this.#ping(), pingEveryMs);
    this.#pings.unref();
    socket.on("data", (chunk: Buffer) => {
      reader.push(chunk);
      this.#drain();
    });
    socket.on("error", (error) => this.#end(error));
    socket.on("close", () => this.#end(new ConnectionClosed("the server closed the connection")));
  }

  static open(connectString: string): Promise<RawSession> {
    return RawSession.#open(connectString, null);
  }

  /**
   * Takes over the session of another client and closes it, in one write. That client may take the session back before the
   * server has read the close. Our answer is then lost, so this is repeated until the server does not know the session any more.
   */
  static async end(
    connectString: string,
    session: { readonly sessionId: bigint; readonly password: Uint8Array },
  ): Promise<void> {
    for (let tries = 0; tries < 20; tries++) {
      try {
        const raw = await RawSession.#open(connectString, session);
        await raw.#reply("closeSession", ++raw.#xid);
        return raw.destroy();
      } catch (error) {
        if (error instanceof UnknownSession) return;
        if (!(error instanceof ConnectionClosed)) throw error;
      }
    }
    throw new Error("the session's owner was quicker each time");
  }

  static #open(
    connectString: string,
    toEnd: { readonly sessionId: bigint; readonly password: Uint8Array } | null,
  ): Promise<RawSession> {
    const [host = "", port] = connectString.split(":");
    const socket = connect({ host, port: Number(port), noDelay: true });
    const reader = new FrameReader();
    return new Promise((resolve, reject) => {
      socket.on("error", reject);
      socket.on("close", () =>
        reject(new ConnectionClosed(`${connectString} closed the connection in the handshake`)),
      );
      socket.on("connect", () => {
        const hello = encodeConnectRequest({
          protocolVersion: 0,
          lastZxidSeen: 0n,
          timeoutMs: 10_000,
          sessionId: toEnd?.sessionId ?? 0n,
          password: toEnd?.password ?? new Uint8Array(passwordLength),
          readOnly: false,
        });
        const goodbye = encodeFrame(encodeRequestHeader({ xid: 1, type: opCodes.closeSession }));
        socket.write(toEnd === null ? encodeFrame(hello) : Buffer.concat([encodeFrame(hello), goodbye]));
      });
      socket.on("data", (chunk: Buffer) => {
        reader.push(chunk);
        const frame = reader.next();
        if (frame === null) return;
        const handshake = decodeConnectResponse(frame);
        socket.removeAllListeners();
        if (handshake.timeoutMs > 0) return resolve(new RawSession(socket, reader, handshake));
        socket.destroy();
        reject(new UnknownSession("the server does not know that session"));
      });
    });
  }

  send<K extends OpName>(op: K, request: RequestOf<K>): Promise<RawReply<K>> {
    if (this.#ended !== null) return Promise.reject(this.#ended);
    const xid = ++this.#xid;
    this.#socket.write(
      encodeFrame(encodeRequestHeader({ xid, type: opCodes[op] }), encodeRequest(op, request)),
    );
    return this.#reply(op, xid);
  }

  /** The names of the children, read behind a `sync` with the leader; none if the path does not exist. */
  async children(path: string): Promise<string[]> {
    const [, { err, response }] = await Promise.all([
      this.send("sync", { path }),
      this.send("getChildren2", { path, watch: false }),
    ]);
    if (err !== 0 && err !== errorCodes.NoNode) throw new Error(`listing ${path}: ${errorName(err)}`);
    return response?.children ?? [];
  }

  async stat(path: string): Promise<Stat | null> {
    return (await this.send("exists", { path, watch: false })).response?.stat ?? null;
  }

  /** The queue nodes of a lock with their owners, in the order of their sequence numbers. */
  async queue(path: string): Promise<{ path: string; czxid: bigint; session: bigint }[]> {
    const nodes: { path: string; czxid: bigint; session: bigint }[] = [];
    const names = (await this.children(path)).sort((a, b) => sequence(a) - sequence(b));
    for (const name of names) {
      const node = joinPath(path, name);
      const stat = await this.stat(node);
      if (stat !== null) nodes.push({ path: node, czxid: stat.czxid, session: stat.ephemeralOwner });
    }
    return nodes;
  }

  /** Watches the node. When it is deleted, its path is added to `deleted`. */
  async watch(path: string): Promise<void> {
    const { err } = await this.send("getData", { path, watch: true });
    if (err !== 0) throw new Error(`watching ${path}: ${errorName(err)}`);
  }

  async delete(path: string): Promise<void> {
    const { err } = await this.send("delete", { path, version: -1 });
    if (err !== 0) throw new Error(`deleting ${path}: ${errorName(err)}`);
  }

  /** Deletes all of them in one transaction. */
  async deleteTogether(paths: readonly string[]): Promise<void> {
    const ops = paths.map((path) => ({ op: "delete" as const, request: { path, version: -1 } }));
    const { response } = await this.send("multi", { ops });
    const failure = response === undefined ? { code: Number.NaN } : multiFailure(response);
    if (failure !== undefined) throw new Error(`deleting ${paths.join(", ")}: ${errorName(failure.code)}`);
  }

  async write(path: string, data: string): Promise<void> {
    const { err } = await this.send("setData", { path, data: Buffer.from(data), version: -1 });
    if (err !== 0) throw new Error(`writing ${path}: ${errorName(err)}`);
  }

  destroy(): void {
    this.#end(new Error("closed"));
    this.#socket.destroy();
  }

  #reply<K extends OpName>(op: K, xid: number): Promise<RawReply<K>> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({
        reject,
        settle(frame) {
          const header = decodeReplyHeader(frame);
          if (header.xid !== xid) return reject(new Error(`reply ${header.xid} where ${xid} was due`));
          const { err, zxid } = header;
          const response = err === 0 ? decodeResponse(op, frame.subarray(replyHeaderBytes)) : undefined;
          resolve({ err, zxid, response });
        },
      });
      this.#drain();
      if (this.#ended !== null) this.#end(this.#ended);
    });
  }

  #ping(): void {
    if (this.#ended === null)
      this.#socket.write(encodeFrame(encodeRequestHeader({ xid: xids.ping, type: opCodes.ping })));
  }

  #drain(): void {
    for (let frame = this.#reader.next(); frame !== null; frame = this.#reader.next()) {
      const { xid } = decodeReplyHeader(frame);
      if (xid > 0) this.#waiting.shift()?.settle(frame);
      if (xid !== xids.event) continue;
      const { type, path } = decodeWatcherEvent(frame.subarray(replyHeaderBytes));
      if (type === "deleted") this.deleted.push(path);
    }
  }

  #end(error: Error): void {
    this.#ended ??= error;
    clearInterval(this.#pings);
    for (const waiting of this.#waiting.splice(0)) waiting.reject(error);
  }
}

function sequence(name: string): number {
  return Number(name.slice(-10));
}
