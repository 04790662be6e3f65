import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { eventually, freePort } from "../../src/index.js";

/** A server that sends back what it receives, and keeps count of it. */
export async function startEchoServer(): Promise<EchoServer> {
  const server = new EchoServer(await freePort());
  await server.listen();
  return server;
}

export class EchoServer {
  readonly port: number;
  readonly sockets: Socket[] = [];
  #received = 0;
  #listener = createServer({ allowHalfOpen: true });

  constructor(port: number) {
    this.port = port;
  }

  /** The bytes received on all connections. */
  get received(): number {
    return this.#received;
  }

  async listen(): Promise<void> {
    this.#listener = createServer({ allowHalfOpen: true }, (socket) => {
      this.sockets.push(socket);
      socket.on("data", (bytes) => {
        this.#received += bytes.length;
        socket.write(bytes);
      });
      socket.on("end", () => socket.end());
      socket.on("error", () => {}); // the proxy is there to make resets
    });
    this.#listener.listen(this.port, "127.0.0.1");
    await once(this.#listener, "listening");
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.#listener.close();
    await once(this.#listener, "close");
  }
}

/** A client that keeps what it received and how its connection ended. */
export class PlainClient {
  readonly socket: Socket;
  readonly chunks: { bytes: Buffer; at: number }[] = [];
  /** `open`, or how the connection ended: `fin`, or an error code. */
  state = "open";

  constructor(port: number) {
    this.socket = connect({ host: "127.0.0.1", port });
    this.socket.setNoDelay(true);
    this.socket.on("data", (bytes) => this.chunks.push({ bytes, at: performance.now() }));
    this.socket.on("end", () => {
      if (this.state === "open") this.state = "fin";
    });
    this.socket.on("error", (error: NodeJS.ErrnoException) => {
      this.state = error.code ?? error.message;
    });
  }

  static async connect(port: number): Promise<PlainClient> {
    const client = new PlainClient(port);
    await once(client.socket, "connect");
    return client;
  }

  get text(): string {
    return Buffer.concat(this.chunks.map(({ bytes }) => bytes)).toString();
  }

  /** Waits until exactly `text` has been received since the start. */
  async receives(text: string): Promise<void> {
    await eventually(() => this.text.length >= text.length, {
      what: `${JSON.stringify(text)}, have ${JSON.stringify(this.text)}`,
    });
    if (this.text !== text)
      throw new Error(`received ${JSON.stringify(this.text)}, not ${JSON.stringify(text)}`);
  }

  async ends(state: string): Promise<void> {
    await eventually(() => this.state !== "open", { what: `the end ${state}` });
    if (this.state !== state) throw new Error(`ended with ${this.state}, not ${state}`);
  }
}
