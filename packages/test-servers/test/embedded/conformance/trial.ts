import { type ConnectRequest, openAcl } from "@holdfast/zk-protocol";
import { create, errOf } from "../support/requests.js";
import { type Address, RawSocket, Wire } from "../support/wire.js";

/** A server to hold against the list: ticks of 500 ms, all four-letter words, TTL nodes, a look for containers each second. */
export interface Target extends Address {
  /** The same kind of server as it is without any setting. */
  readonly stock: Address;
  /** Nodes whose next sequential child gets 2147483643, 2147483644. */
  readonly nearTheLimit: readonly [string, string];
  readonly ensemble: Ensemble;
}

/**
 * The time-out of sessions that stay open however slow the machine is: none has keep-alive, so an idle one ends, and with it its
 * connection. This is more than the followers' patience with a leader that is cut off.
 */
export const maxSessionTimeoutMs = 60_000;

/** Several members, or what behaves like them. Sessions may last for `maxSessionTimeoutMs`. */
export interface Ensemble {
  /** Followers at this moment: a leader that loses a session closes its connection at once. */
  members(): Promise<readonly [Address, Address]>;
  /** To be called before a session is opened at the second member while its connection to the first is still there. */
  moves(session: bigint): void;
  /** Keeps changes from the first member, which serves this session. What it returns ends that, if `sync` has not. */
  lags(session: bigint): Promise<() => Promise<void>>;
}

/** One line of the list. It holds if `run` resolves. */
export interface Item {
  readonly number: number;
  readonly title: string;
  run(trial: Trial): Promise<void>;
}

/** What one item works with. Sessions are closed behind it, so that no late expiry disturbs the zxids of the next. */
export class Trial {
  readonly target: Target;
  /** A path of its own; `home` makes the node. */
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

  /** Handshake and more in one segment, without waiting. */
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
        // A server that another connection has taken the session to may be about to close this one.
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
