import dns from "node:dns";
import { connect as connectTcp, isIP, type LookupFunction, type Socket } from "node:net";
import type { ConnectionOptions } from "node:tls";
import type { Millis, Runtime } from "@holdfast/core";
import type { ServerAddress } from "./library.js";
import { tlsSocket } from "./tls-socket.js";

const firstPauseMs: Millis = 50;
const longestOfAllMs: Millis = 1_000;
const leastSpreadMs: Millis = 5;
const spreadMs: Millis = 20;

/** The longest pause after `rounds` rounds without progress. */
export function longestPauseMs(rounds: number, timeoutMs: Millis): Millis {
  return Math.min(longestOfAllMs, timeoutMs / 4, firstPauseMs * 2 ** Math.min(rounds, 10));
}

/**
 * A socket that is being connected. `readyEvent` is the event after which bytes may be written: with TLS it follows the
 * TLS handshake.
 */
export interface Dialled {
  readonly socket: Socket;
  readonly server: ServerAddress;
  readonly readyEvent: "connect" | "secureConnect";
}

/**
 * Dials the servers of a session in turn. It tries the next server at once, or within 25 ms when a connection that worked
 * has ended. After a full round without progress it pauses. The pause doubles from 50 ms up to a second or a quarter of
 * the session time-out, whichever is shorter. A moment's outage then costs little, and a long one does not turn into a
 * storm.
 *
 * A handshake alone is no progress: otherwise a server that greets and hangs up would be dialled without end.
 *
 * One name may stand for several servers. Each round begins with the next address of a name; Java's client takes the
 * addresses in a new order each time.
 */
export class Dialer {
  readonly #servers: readonly ServerAddress[];
  readonly #tls: ConnectionOptions | undefined;
  readonly #runtime: Runtime;
  /**
   * Attempts so far. The count begins at a random number, so that clients that dial the same name spread over its
   * addresses.
   */
  #tried: number;
  #triedInRound = 0;
  #rounds = 0;
  #cancelPause: (() => void) | null = null;

  /** `servers` are tried in the order given: the caller shuffles them. */
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
   * `ref`: the pause keeps the process alive.
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
      // A server that stops cuts all its clients at once. This spread keeps them from reaching the next server in the
      // same instant.
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
    // TLS checks the certificate against a host name. An address is not allowed in SNI.
    const names = isIP(host) === 0 ? { servername: host } : {};
    const socket = tlsSocket(() => ({ ...names, lookup, ...this.#tls, host, port }));
    return { socket, server, readyEvent: "secureConnect" };
  }
}

/** A lookup that finds all addresses of a name and puts the one at index `turn`, modulo their number, first. */
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
