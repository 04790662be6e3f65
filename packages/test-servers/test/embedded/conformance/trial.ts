import { type ConnectRequest, openAcl } from "@holdfast/zk-protocol";
import { create, errOf } from "../support/requests.js";
import { type Address, RawSocket, Wire } from "../support/wire.js";

/** A server to check by the list: ticks of 500 ms, all four-letter words, TTL nodes, a check of containers each second. */
export interface Target extends Address {
  /** The same kind of server without any setting. */
  readonly stock: Address;
  /** Nodes whose next sequential child gets the number 2147483643 and 2147483644. */
  readonly nearTheLimit: readonly [string, string];
  readonly ensemble: Ensemble;
}

/**
 * The time-out of sessions that must stay open on a slow machine. They have no keep-alive, so an idle session ends, and its
 * connection with it. This time-out is longer than the followers wait for a leader that is cut off.
 */
export const maxSessionTimeoutMs = 60_000;

/** Several members, or servers that behave like them. Sessions may last for `maxSessionTimeoutMs`. */
export interface Ensemble {
  /** Two followers of this moment. The leader would close a session's connection at once when it loses the session. */
  members(): Promise<readonly [Address, Address]>;
  /** Call it before a session is opened at the second member while its connection to the first is still open. */
  moves(session: bigint): void;
  /** Keeps changes from the first member, which serves this session. The returned function ends that, if `sync` has not. */
  lags(session: bigint): Promise<() => Promise<void>>;
}

/** One line of the list. It holds if `run` resolves. */
export interface Item {
  readonly number: number;
  readonly title: string;
  run(trial: Trial): Promise<void>;
}

/** What one item works with. Its sessions are closed after it, so that no late expiry disturbs the zxids of the next item. */
export class Trial {
  readonly target: Target;
  /** A path for this item alone. `home` makes its node. */
  readonly path: string;
  readonly #sockets: RawSocket[] = [];

  constructor(target: Target, number: number) {
    this.target = target;
    this.path = `/item${number}`;
  }

  async open(request: Partial<ConnectRequest> = {}, address: Address = this.target): Promise<Wire> {
    const wire = await Wire.open(address, request);
    this.#sockets.push(wire);
    return wire;
  }

  /** Sends the handshake and `more` in one segment, without waiting. */
  start(request: Partial<ConnectRequest>, ...more: Uint8Array[]): Wire {
    const wire = Wire.start(this.target, request, ...more);
    this.#sockets.push(wire);
    return wire;
  }

  raw(address: Address = this.target): RawSocket {
    const socket = new RawSocket(address);
    this.#sockets.push(socket);
    return socket;
  }

  async home(wire: Wire): Promise<string> {
    await create(wire, this.path, { acl: openAcl });
    return this.path;
  }

  async end(): Promise<void> {
    for (const socket of this.#sockets) {
      if (socket instanceof Wire && socket.greeted && socket.session.timeoutMs > 0 && !socket.ended) {
        // If another connection has moved the session to another server, this server may be about to close the connection.
        const closed = errOf(socket, "closeSession", undefined).catch((error) => {
          if (!socket.ended) throw error;
          return 0;
        });
        if ((await closed) !== 0) throw new Error("a session would not close");
      }
      socket.destroy();
    }
  }
}
