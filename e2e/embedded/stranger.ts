import { once } from "node:events";
import { connect, type Socket } from "node:net";
import {
  encodeConnectRequest,
  encodeFrame,
  encodeRequest,
  encodeRequestHeader,
  type OpName,
  opCodes,
  passwordLength,
  type RequestOf,
} from "@holdfast/zk-protocol";

/** The bytes of a handshake that asks for a session with this time-out. */
export function hello(timeoutMs = 4_000): Buffer {
  const request = {
    protocolVersion: 0,
    lastZxidSeen: 0n,
    timeoutMs,
    sessionId: 0n,
    password: new Uint8Array(passwordLength),
    readOnly: false,
  };
  return encodeFrame(encodeConnectRequest(request));
}

export function request<K extends OpName>(xid: number, op: K, record: RequestOf<K>): Buffer {
  return encodeFrame(encodeRequestHeader({ xid, type: opCodes[op] }), encodeRequest(op, record));
}

/** A raw socket, for bytes that no correct client sends. */
export class Stranger {
  readonly socket: Socket;
  bytes = 0;
  /** Whether the server has ended the connection. */
  ended = false;
  readonly #end: Promise<void>;

  private constructor(port: number) {
    this.socket = connect({ host: "127.0.0.1", port, allowHalfOpen: true });
    this.socket.on("data", (chunk: Buffer) => {
      this.bytes += chunk.length;
    });
    this.#end = new Promise((resolve) => {
      for (const event of ["end", "error", "close"]) this.socket.on(event, resolve);
    });
    void this.#end.then(() => {
      this.ended = true;
    });
  }

  static async meet(port: number, ...first: Uint8Array[]): Promise<Stranger> {
    const stranger = new Stranger(port);
    await once(stranger.socket, "connect");
    if (first.length > 0) stranger.send(...first);
    return stranger;
  }

  /** Makes a stranger with its own session. */
  static async known(port: number): Promise<Stranger> {
    const stranger = await Stranger.meet(port, hello());
    await within(10_000, "the handshake", once(stranger.socket, "data"));
    return stranger;
  }

  send(...parts: Uint8Array[]): void {
    this.socket.write(Buffer.concat(parts));
  }

  /** @throws Error unless the server ends the connection in time. */
  async dismissed(withinMs = 5_000): Promise<void> {
    await within(withinMs, "the server to end the connection", this.#end);
    this.socket.destroy();
  }
}

async function within(ms: number, what: string, promise: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`waited ${ms} ms for ${what}`)), ms);
  });
  await Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
