import type { ConnectRequest } from "@holdfast/zk-protocol";
import {
  type EmbeddedZooKeeper,
  type EmbeddedZooKeeperOptions,
  startEmbeddedZooKeeper,
} from "../../../src/embedded/index.js";
import { RawSocket, Wire } from "./wire.js";

/** A server and its clients, for one test. */
export class Bench {
  readonly server: EmbeddedZooKeeper;
  readonly #sockets: RawSocket[] = [];

  private constructor(server: EmbeddedZooKeeper) {
    this.server = server;
  }

  static async start(options: EmbeddedZooKeeperOptions = {}): Promise<Bench> {
    return new Bench(await startEmbeddedZooKeeper(options));
  }

  async open(request: Partial<ConnectRequest> = {}): Promise<Wire> {
    const wire = await Wire.open(this.server, request);
    this.#sockets.push(wire);
    return wire;
  }

  start(request: Partial<ConnectRequest> = {}): Wire {
    const wire = Wire.start(this.server, request);
    this.#sockets.push(wire);
    return wire;
  }

  raw(): RawSocket {
    const socket = new RawSocket(this.server);
    this.#sockets.push(socket);
    return socket;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await this.server.stop();
  }
}
