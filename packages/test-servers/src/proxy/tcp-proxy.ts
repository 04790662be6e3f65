import { createServer, type Server, type Socket } from "node:net";
import { TestServerError } from "../errors.js";
import { freePort } from "../free-port.js";
import { type Direction, Link, type LinkFilter, type LinkRules, type Policy } from "./link.js";
import type { Shape } from "./shaper.js";

/**
 * What a proxy does to its connections, old and new ones:
 *
 * - `ok`: passes everything on.
 * - `hole`: swallows both directions. Sockets stay open, new connections are accepted and lead nowhere.
 * - `hole-up`: swallows what the client sends; new connections lead nowhere.
 * - `hole-down`: swallows what the server sends; the server still gets everything, from new connections too.
 * - `stall`: holds both directions back and delivers them late, like a network that is mended in time: TCP repeats what
 *   was lost. This is the realistic cut; after a hole nothing can be repeated.
 * - `stall-up`, `stall-down`: the same for one direction. As with the holes, new connections reach the server unless
 *   `up` is closed.
 * - `mute`: leaves old connections alone; new ones are accepted and never answered, and the server gets nothing of
 *   them.
 * - `refuse`: leaves old connections alone; new ones are refused by the kernel, as with a dead server.
 * - `reset`: resets all connections, and each new one as soon as it is accepted.
 *
 * When a hole ends, connections that lost something in it are reset, because their streams have gaps. Connections that
 * lost nothing go on.
 */
export type ProxyMode = (typeof modes)[number];

const modes = [
  "ok",
  "hole",
  "hole-up",
  "hole-down",
  "stall",
  "stall-up",
  "stall-down",
  "mute",
  "refuse",
  "reset",
] as const;

/** What every proxy takes. */
export interface ProxyOptions {
  /** `host:port`, or host and port apart. */
  target:
    | string
    | {
        /** A name or an IP address. */
        host: string;
        /** Its port. */
        port: number;
      };
  /** The name in error messages; default the target. */
  name?: string;
  /** Port on 127.0.0.1; default a fresh one. */
  port?: number;
  /**
   * How long a new connection waits for a target that refuses it, in milliseconds; default 0: the client is reset at
   * once. A proxy accepts a connection before its target does. The option is for clients that take an accepted
   * connection for a sign that the server runs.
   */
  dialForMs?: number;
}

/** One value for both directions, or one for each. A direction that is left out is as without the fault. */
export type PerDirection =
  | number
  | {
      /** From the client to the server. */
      up?: number;
      /** From the server to the client. */
      down?: number;
    };

/**
 * A TCP proxy on 127.0.0.1 that injects faults on request. It lives in this process: a blocked event loop blocks it.
 */
export class TcpProxy {
  /** The address that it listens at. */
  readonly host: string = "127.0.0.1";
  /** The port that it listens at. */
  readonly port: number;
  /** `host:port`. Give it to the client in place of the server's address. */
  readonly connectString: string;
  /** The option `name`, or the target. */
  readonly name: string;
  readonly #links = new Set<Link>();
  readonly #rules: LinkRules;
  readonly #shape: { up: Shape; down: Shape } = { up: unshaped(), down: unshaped() };
  readonly #bytes: { up: number; down: number } = { up: 0, down: 0 };
  readonly #cuts: { up: Cut | undefined; down: Cut | undefined } = { up: undefined, down: undefined };
  #listener: Server | undefined;
  #mode: ProxyMode = "ok";
  #accepted = 0;
  #closed = false;

  protected constructor(options: ProxyOptions, port: number) {
    this.port = port;
    this.connectString = `${this.host}:${port}`;
    const target = parseTarget(options.target);
    this.name = options.name ?? `proxy of ${target.host}:${target.port}`;
    this.#rules = {
      target,
      dialForMs: options.dialForMs ?? 0,
      shape: (direction) => this.#shape[direction],
      policy: (link, direction) => this.#policy(link, direction),
      allowance: (direction, length) => {
        const cut = this.#cuts[direction];
        return cut === undefined || cut.leftBytes > length ? undefined : cut.leftBytes;
      },
      delivered: (direction, length) => this.#delivered(direction, length),
      closed: (link) => this.#links.delete(link),
    };
  }

  /** Does what `startProxy` does. */
  static async start(options: ProxyOptions): Promise<TcpProxy> {
    const proxy = new TcpProxy(options, options.port ?? (await freePort()));
    await proxy.listen();
    return proxy;
  }

  /** What the proxy does to its connections now. */
  get mode(): ProxyMode {
    return this.#mode;
  }

  /** Where connections are led. */
  get target(): { readonly host: string; readonly port: number } {
    return this.#rules.target;
  }

  /**
   * Leads new connections elsewhere, as an address does that moves from one server to the next. Old connections stay
   * where they are. `resetAll` ends them, as connections to a server that lost its address end sooner or later.
   */
  lead(target: ProxyOptions["target"]): void {
    this.#rules.target = parseTarget(target);
  }

  /** Connections that were accepted since the start. */
  get accepted(): number {
    return this.#accepted;
  }

  /** Connections that are open now. */
  get open(): number {
    return this.#links.size;
  }

  /** Bytes delivered since the start. */
  get bytes(): { readonly up: number; readonly down: number } {
    return { ...this.#bytes };
  }

  /**
   * Changes the mode. It holds from this call on, for bytes that are under way as well. Only leaving `refuse` takes
   * until the promise resolves.
   */
  async setMode(mode: ProxyMode): Promise<void> {
    if (!modes.includes(mode)) throw new RangeError(`${this.name}: there is no mode ${JSON.stringify(mode)}`);
    if (this.#closed) throw new TestServerError(`${this.name} is closed`);
    this.#mode = mode;
    if (mode === "refuse") {
      this.#listener?.close();
      this.#listener = undefined;
    }
    if (mode === "reset") this.resetAll();
    for (const link of [...this.#links]) this.#adapt(link);
    if (mode !== "refuse") await this.listen();
  }

  /**
   * Delays all bytes by this many milliseconds; 0 ends the delay. Bytes that are under way keep the delay they have.
   */
  setDelayMs(delayMs: PerDirection): void {
    const { up, down } = perDirection(delayMs, 0);
    this.#shape.up.delayMs = up;
    this.#shape.down.delayMs = down;
  }

  /** Limits the rate to this many bytes per second and connection; Infinity ends the limit. */
  setRate(bytesPerS: PerDirection): void {
    const { up, down } = perDirection(bytesPerS, Number.POSITIVE_INFINITY);
    if (!(up > 0 && down > 0)) throw new RangeError(`${this.name}: a rate is more than 0 bytes per second`);
    this.#shape.up.bytesPerS = up;
    this.#shape.down.bytesPerS = down;
  }

  /**
   * Lets `bytes` more bytes through in one direction, counted over all connections. Then it ends the connection that
   * carried the last of them, in the middle of a frame if need be. Happens once.
   *
   * @returns a promise that resolves when it has happened. It never rejects; it may never resolve.
   */
  cutAfter(bytes: number, direction: Direction): Promise<void> {
    if (!Number.isInteger(bytes) || bytes < 0) throw new RangeError(`${this.name}: cutAfter(${bytes})`);
    return new Promise((resolve) => {
      this.#cuts[direction] = { leftBytes: bytes, done: resolve };
    });
  }

  /** Sends RST to both ends of all connections; new ones are not affected. */
  resetAll(): void {
    for (const link of [...this.#links]) link.reset();
  }

  /** Ends all connections in order (FIN to both ends); new ones are not affected. */
  endAll(): void {
    for (const link of [...this.#links]) link.close();
  }

  /** Resets all connections and stops listening. */
  async close(): Promise<void> {
    this.#closed = true;
    this.resetAll();
    const listener = this.#listener;
    this.#listener = undefined;
    if (listener !== undefined) await new Promise((resolve) => listener.close(resolve));
  }

  /** `close()`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Makes the filter that reads along on a new connection; a plain proxy has none. */
  protected filterFor(_link: Link): LinkFilter | undefined {
    return undefined;
  }

  protected async listen(): Promise<void> {
    if (this.#listener !== undefined) return;
    const listener = createServer({ allowHalfOpen: true }, (client) => this.#accept(client));
    this.#listener = listener;
    await new Promise<void>((resolve, reject) => {
      listener.once("error", reject);
      listener.listen({ host: this.host, port: this.port, backlog: 511 }, resolve);
    });
  }

  #accept(client: Socket): void {
    this.#accepted++;
    const link = new Link(this.#accepted, client, this.#rules);
    this.#links.add(link);
    link.use(this.filterFor(link));
    if (this.#mode === "reset" || this.#mode === "refuse") link.reset();
    else this.#adapt(link);
  }

  /** Makes one connection follow the mode. */
  #adapt(link: Link): void {
    if (link.closed) return;
    for (const direction of ["up", "down"] as const) {
      if (link.damaged[direction] && this.#policy(link, direction) !== "swallow") {
        link.reset();
        return;
      }
    }
    if (["ok", "hole-down", "stall-down"].includes(this.#mode)) link.dial();
    link.flush();
  }

  #policy(link: Link, direction: Direction): Policy {
    switch (this.#mode) {
      case "hole":
        return "swallow";
      case "hole-up":
      case "hole-down":
        return this.#mode === `hole-${direction}` ? "swallow" : "pass";
      case "stall":
        return "hold";
      case "stall-up":
      case "stall-down":
        return this.#mode === `stall-${direction}` ? "hold" : "pass";
      case "mute":
        return link.dialed ? "pass" : "swallow";
      default:
        // The connection was accepted under another mode and not led on yet. `refuse` leaves it as it is.
        return link.dialed || this.#mode === "ok" ? "pass" : "hold";
    }
  }

  #delivered(direction: Direction, length: number): void {
    this.#bytes[direction] += length;
    const cut = this.#cuts[direction];
    if (cut === undefined) return;
    cut.leftBytes -= length;
    if (cut.leftBytes <= 0) {
      this.#cuts[direction] = undefined;
      cut.done();
    }
  }
}

interface Cut {
  leftBytes: number;
  done: () => void;
}

/** Starts a proxy that knows no protocol. */
export function startProxy(options: ProxyOptions): Promise<TcpProxy> {
  return TcpProxy.start(options);
}

function unshaped(): Shape {
  return { delayMs: 0, bytesPerS: Number.POSITIVE_INFINITY };
}

function perDirection(value: PerDirection, otherwise: number): { up: number; down: number } {
  if (typeof value === "number") return { up: value, down: value };
  return { up: value.up ?? otherwise, down: value.down ?? otherwise };
}

function parseTarget(target: ProxyOptions["target"]): { host: string; port: number } {
  if (typeof target !== "string") return { host: target.host, port: target.port };
  const match = /^(?<host>[^:]+|\[.+\]):(?<port>\d+)$/.exec(target);
  if (match?.groups === undefined) {
    throw new RangeError(`a proxy's target is host:port, not ${JSON.stringify(target)}`);
  }
  return { host: (match.groups.host ?? "").replace(/^\[|\]$/g, ""), port: Number(match.groups.port) };
}
