import dns from "node:dns";
import { connect as connectTcp, isIP, type LookupFunction, Socket } from "node:net";
import { type ConnectionOptions, connect as connectTls } from "node:tls";
import type { Millis, Runtime } from "@holdfast/core";
import { messageOf } from "@holdfast/core/internal";
import type { ServerAddress } from "./library.js";

const firstPauseMs: Millis = 50;
const longestOfAllMs: Millis = 1_000;
const leastSpreadMs: Millis = 5;
const spreadMs: Millis = 20;

/** The longest pause after so many rounds without progress. */
export function longestPauseMs(rounds: number, timeoutMs: Millis): Millis {
  return Math.min(longestOfAllMs, timeoutMs / 4, firstPauseMs * 2 ** Math.min(rounds, 10));
}

/** How a socket says that bytes may be written: after the TLS handshake, where there is one. */
export interface Dialled {
  readonly socket: Socket;
  readonly server: ServerAddress;
  readonly readyEvent: "connect" | "secureConnect";
}

/**
 * Goes round the servers. The next one is tried at once, or within 25 ms of the end of a connection; after a full round without progress comes a pause that doubles
 * from 50 ms to a second or a quarter of the session time-out, so that a moment's outage costs little and a long one does not
 * turn into a storm. A handshake alone is no progress: a server that greets and hangs up would be called without end.
 *
 * A name may stand for several servers: each round begins with the next of its addresses, as Java's client takes them in a new order each time.
 */
export class Dialer {
  readonly #servers: readonly ServerAddress[];
  readonly #tls: ConnectionOptions | undefined;
  readonly #runtime: Runtime;
  /** Attempts so far. The count begins anywhere, so that clients of one name spread over its addresses. */
  #tried: number;
  #triedInRound = 0;
  #rounds = 0;
  #cancelPause: (() => void) | null = null;

  /** `servers` are tried in the order given: shuffle before. */
  constructor(servers: readonly ServerAddress[], tls: ConnectionOptions | undefined, runtime: Runtime) {
    this.#servers = servers;
    this.#tls = tls;
    this.#runtime = runtime;
    this.#tried = servers.length * Math.floor(runtime.random() * 1_000);
  }

  /** The connection has served a request. */
  progress(): void {
    this.#triedInRound = 0;
    this.#rounds = 0;
  }

  /**
   * Calls `dialled` with the next socket, now or after a pause. `afterService`: a connection that worked has just ended.
   * `ref`: whether the pause holds the process.
   */
  dial(timeoutMs: Millis, afterService: boolean, ref: boolean, dialled: (result: Dialled) => void): void {
    this.cancel();
    const pauseMs = this.#pauseMs(timeoutMs, afterService);
    if (pauseMs === 0) {
      dialled(this.#open());
      return;
    }
    this.#cancelPause = this.#runtime.setTimer(
      pauseMs,
      () => {
        this.#cancelPause = null;
        dialled(this.#open());
      },
      { ref },
    );
  }

  #pauseMs(timeoutMs: Millis, afterService: boolean): Millis {
    const random = this.#runtime.random();
    if (this.#triedInRound < this.#servers.length) {
      // A server that goes takes all its clients along: they need not arrive at the next one in the same instant.
      return afterService ? leastSpreadMs + random * spreadMs : 0;
    }
    const limitMs = longestPauseMs(this.#rounds, timeoutMs);
    this.#rounds += 1;
    this.#triedInRound = 0;
    return limitMs * (0.5 + 0.5 * random);
  }

  cancel(): void {
    this.#cancelPause?.();
    this.#cancelPause = null;
  }

  #open(): Dialled {
    const count = this.#servers.length;
    const server = this.#servers[this.#tried % count] as ServerAddress;
    const lookup = addressesFrom(Math.floor(this.#tried / count));
    this.#tried += 1;
    this.#triedInRound += 1;
    const { host, port } = server;
    if (this.#tls === undefined) {
      return { socket: connectTcp({ host, port, lookup }), server, readyEvent: "connect" };
    }
    // A name is needed to check the certificate against; an address in SNI is forbidden.
    const names = isIP(host) === 0 ? { servername: host } : {};
    const socket = tlsSocket(() => ({ ...names, lookup, ...this.#tls, host, port }));
    return { socket, server, readyEvent: "secureConnect" };
  }
}

/**
 * The options are read for each socket, so that a certificate may be changed in place. What is wrong with them at that moment, such as a file
 * that is half written, ends this attempt alone.
 */
function tlsSocket(options: () => ConnectionOptions): Socket {
  try {
    return connectTls(options());
  } catch (cause) {
    return new Socket().destroy(new Error(`option tls: ${messageOf(cause)}`, { cause }));
  }
}

/** Looks up all addresses of a name, and begins with the one at `turn`, counted round and round. */
function addressesFrom(turn: number): LookupFunction {
  return (host, options, callback) => {
    dns.lookup(host, { ...options, all: true }, (error, found) => {
      if (error !== null) return callback(error, []);
      const first = turn % found.length;
      const turned = [...found.slice(first), ...found.slice(0, first)];
      if (options.all === true) callback(null, turned);
      else callback(null, turned[0]?.address ?? "", turned[0]?.family);
    });
  };
}
