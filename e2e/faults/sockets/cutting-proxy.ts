import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/**
 * How the proxy ends a connection.
 *
 * - `fin`: the client reads the end of the stream; what it sends from then on is reset.
 * - `half close`: the client reads the end of the stream, and what it sends is still read.
 * - `rst`: a reset.
 * - `alert`: the bytes of a fatal TLS alert, which are nonsense in any other protocol; then the end of the stream.
 * - `late alert`: the proxy makes the server refuse a TLS record. All that the server sent since, with its alert, comes at once.
 * - `late alert, rst`: the same, with a reset behind it.
 * - `own close`: the test closes the client; the proxy passes on what follows.
 * - `own close, rst`: the test closes the client, and the connection is reset at once.
 */
export type Cut =
  | "fin"
  | "half close"
  | "rst"
  | "alert"
  | "late alert"
  | "late alert, rst"
  | "own close"
  | "own close, rst";

export interface CutPlan {
  /** The first piece of the client's bytes that is not passed on. 0: the connection is cut as soon as it is accepted. */
  readonly piece: number;
  readonly cut: Cut;
}

const fatalAlert = Buffer.from("15030300020232", "hex");
/** A record that no key decrypts. */
const badRecord = Buffer.concat([Buffer.from("1703030020", "hex"), Buffer.alloc(32, 7)]);

/** Forwards connections to a server, and cuts each of them at the step that the plan names. */
export class CuttingProxy {
  /** Closes the client. Called if the plan says that the test closes it. */
  closeClient: () => void = () => {};
  readonly #listener: Server;
  readonly #plan: CutPlan;
  readonly #target: number;
  readonly #sockets = new Set<Socket>();
  #cut = 0;

  private constructor(listener: Server, target: number, plan: CutPlan) {
    this.#listener = listener;
    this.#target = target;
    this.#plan = plan;
    listener.on("connection", (client) => this.#accept(client));
  }

  static async open(target: number, plan: CutPlan): Promise<CuttingProxy> {
    const listener = createServer({ allowHalfOpen: true });
    listener.listen(0, "127.0.0.1");
    await once(listener, "listening");
    return new CuttingProxy(listener, target, plan);
  }

  get port(): number {
    return (this.#listener.address() as AddressInfo).port;
  }

  /** The number of connections that were cut and that the client has closed. */
  get cut(): number {
    return this.#cut;
  }

  /** Once this resolves, no connection is left. */
  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#listener.close(resolve));
  }

  #accept(client: Socket): void {
    const server = connect({ port: this.#target, host: "127.0.0.1", allowHalfOpen: true, noDelay: true });
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      socket.on("error", () => socket.destroy());
      socket.on("close", () => this.#sockets.delete(socket));
    }
    client.setNoDelay(true);
    let pieces = 0;
    let cut = false;
    const apply = (piece: Buffer): void => {
      cut = true;
      client.on("close", () => {
        this.#cut++;
        server.destroy();
      });
      this.#end(client, server, piece);
    };
    server.on("data", (bytes) => void (cut ? undefined : client.write(bytes)));
    server.on("end", () => void (cut ? undefined : client.end()));
    client.on("data", (bytes) => {
      if (cut) return;
      pieces++;
      if (pieces >= this.#plan.piece) apply(bytes);
      else server.write(bytes);
    });
    client.on("end", () => {
      if (!cut) server.end();
    });
    if (this.#plan.piece === 0) apply(Buffer.alloc(0));
  }

  #end(client: Socket, server: Socket, piece: Buffer): void {
    switch (this.#plan.cut) {
      case "fin":
        server.destroy();
        client.end(() => client.destroySoon());
        break;
      case "half close":
        server.destroy();
        client.on("end", () => client.destroy());
        client.end();
        break;
      case "rst":
        server.destroy();
        client.resetAndDestroy();
        break;
      case "alert":
        server.destroy();
        client.on("end", () => client.destroy());
        client.end(fatalAlert);
        break;
      case "late alert":
      case "late alert, rst":
        this.#endLate(client, server, piece);
        break;
      case "own close":
        client.on("end", () => server.end());
        client.on("data", (bytes) => server.write(bytes));
        server.on("data", (bytes) => client.write(bytes));
        server.on("end", () => client.end());
        server.on("close", () => client.destroySoon());
        this.closeClient();
        server.write(piece);
        break;
      case "own close, rst":
        server.destroy();
        this.closeClient();
        client.resetAndDestroy();
    }
  }

  #endLate(client: Socket, server: Socket, piece: Buffer): void {
    const said: Buffer[] = [];
    client.on("end", () => client.destroy());
    server.on("data", (bytes) => {
      // These bytes are the server's part of a handshake. It expects the next record to be encrypted.
      if (said.push(bytes) === 1) server.write(badRecord);
    });
    server.on("close", () => {
      if (this.#plan.cut === "late alert") client.end(Buffer.concat(said));
      // The client, which is in this process, reads these bytes before the reset comes.
      else
        client.write(Buffer.concat(said), () =>
          setImmediate(() => setImmediate(() => client.resetAndDestroy())),
        );
    });
    server.on("end", () => server.end());
    server.write(piece);
    if (this.#plan.piece !== 1) server.write(badRecord);
  }
}
