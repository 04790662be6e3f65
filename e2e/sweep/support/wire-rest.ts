import { channel } from "node:diagnostics_channel";
import type { Socket } from "node:net";

/** After so many turns of the loop without a change, everything is at rest: the server answers two turns after a request. */
const quietTurns = 4;
/** After so many turns without delivery, the network counts as at rest, so that nothing waits without end. */
const patienceTurns = 5_000;

const clientSockets = channel("net.client.socket");
const serverSockets = channel("net.server.socket");

/**
 * Shows when no byte and no end of a connection is under way between sockets of this process, and nothing has happened for
 * some turns. A test that moves time only then gives the same run for the same seed, however slow the machine is.
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

  /** Call it once in each turn of the event loop. */
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

  /** Call it after time has moved: what that caused has to come to rest first. */
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
    // A closed socket does not know its port any more, so the port is kept.
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

/** Whether bytes or the end of the stream are still on their way to the reader. */
function arrives(writer: Socket, reader: Socket): boolean {
  if (reader.destroyed || reader.isPaused()) return false;
  if (writer.bytesWritten - writer.writableLength > reader.bytesRead) return true;
  return (writer.destroyed || writer.writableFinished) && !reader.readableEnded;
}
