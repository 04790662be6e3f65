import { channel } from "node:diagnostics_channel";
import type { Socket } from "node:net";

/** Turns of the loop without any change before everything counts as at rest: the server answers two turns after a request. */
const quietTurns = 4;
/** A network that does not deliver within so many turns is taken as it is, rather than waited for without end. */
const patienceTurns = 5_000;

const clientSockets = channel("net.client.socket");
const serverSockets = channel("net.server.socket");

/**
 * Shows when no byte and no end of a connection is under way between sockets of this process, and nothing has happened for some
 * turns. A test that moves time only then has the same run again for the same seed, however slow the machine is.
 */
export class WireRest implements Disposable {
  readonly #clients = new Set<Socket>();
  readonly #servers = new Map<number, Socket>();
  #signature = -1;
  #quiet = 0;
  #busy = 0;

  constructor() {
    clientSockets.subscribe(this.#onClient);
    serverSockets.subscribe(this.#onServer);
  }

  [Symbol.dispose](): void {
    clientSockets.unsubscribe(this.#onClient);
    serverSockets.unsubscribe(this.#onServer);
  }

  /** To be asked once in each turn of the loop. */
  atRest(): boolean {
    const signature = this.#look();
    if (signature === null) {
      this.#quiet = 0;
      if (++this.#busy < patienceTurns) return false;
      return true;
    }
    this.#busy = 0;
    this.#quiet = signature === this.#signature ? this.#quiet + 1 : 0;
    this.#signature = signature;
    return this.#quiet >= quietTurns;
  }

  /** After time has moved: what that caused has to come to rest first. */
  disturbed(): void {
    this.#quiet = 0;
  }

  /** A number that changes with everything that happens; `null` while something is on its way. */
  #look(): number | null {
    let signature = this.#clients.size;
    for (const client of this.#clients) {
      if (client.connecting) return null;
      const server = this.#servers.get(client.localPort ?? -1);
      if (client.destroyed && (server === undefined || server.destroyed)) {
        this.#clients.delete(client);
        signature += 1_000_003;
        continue;
      }
      if (server === undefined) return null;
      if (arrives(client, server) || arrives(server, client)) return null;
      signature += client.bytesRead + client.bytesWritten + server.bytesRead + server.bytesWritten;
    }
    return signature;
  }

  readonly #onClient = (message: unknown): void => {
    const { socket } = message as { socket: Socket };
    this.#clients.add(socket);
    // The port is not known any more once it is closed.
    socket.once("connect", () => Object.defineProperty(socket, "localPort", { value: socket.localPort }));
    socket.once("close", () => {
      if (socket.localPort === undefined) this.#clients.delete(socket);
    });
  };

  readonly #onServer = (message: unknown): void => {
    const { socket } = message as { socket: Socket };
    if (socket.remotePort !== undefined) this.#servers.set(socket.remotePort, socket);
  };
}

/** Whether the reader has something to read yet, bytes or the end. */
function arrives(writer: Socket, reader: Socket): boolean {
  if (reader.destroyed || reader.isPaused()) return false;
  if (writer.bytesWritten - writer.writableLength > reader.bytesRead) return true;
  return (writer.destroyed || writer.writableFinished) && !reader.readableEnded;
}
