import { connect, type Socket } from "node:net";
import { resetSocket } from "../reset-socket.js";
import { type Shape, Shaper, type StreamItem } from "./shaper.js";

/** The direction as seen from the client: `up` goes to the server, `down` comes back. */
export type Direction = "up" | "down";

/** What the proxy does now with the items of one direction. */
export type Policy = "pass" | "swallow" | "hold";

/** Sees every item and may hold or drop it. One is made for each connection. */
export interface LinkFilter {
  up(item: StreamItem): void;
  down(item: StreamItem): void;
}

/** What a link asks its proxy. It asks each time anew, because a mode may change at any moment. */
export interface LinkRules {
  target: { host: string; port: number };
  /** For how many milliseconds to try again when the server refuses the connection. */
  dialForMs: number;
  shape(direction: Direction): Shape;
  policy(link: Link, direction: Direction): Policy;
  /** How many of `length` bytes may still be delivered before the connection has to be cut; undefined means all. */
  allowance(direction: Direction, length: number): number | undefined;
  delivered(direction: Direction, length: number): void;
  closed(link: Link): void;
}

const redialMs = 20;

// If more bytes than this are undelivered, the source is not read any more.
const highWaterBytes = 1 << 20;

/**
 * One proxied connection.
 *
 *     client > gate > filter > shaper > server
 *     client < gate < filter < shaper < server
 *
 * The gate is on the client's side, so a filter sees what passed the gate from the client, and what the server sent.
 */
export class Link {
  /** The number of the connection; a proxy counts its connections from 1. */
  readonly id: number;
  /** The directions in which bytes, an end or a reset were swallowed: their streams have gaps. */
  readonly damaged: { up: boolean; down: boolean } = { up: false, down: false };
  readonly #client: Socket;
  readonly #rules: LinkRules;
  readonly #shapers: { up: Shaper; down: Shaper };
  readonly #held: { up: StreamItem[]; down: StreamItem[] } = { up: [], down: [] };
  /** Items for the server that came before there was a connection to it. */
  readonly #early: StreamItem[] = [];
  #server: Socket | undefined;
  #dialed = false;
  #redial: NodeJS.Timeout | undefined;
  #filter: LinkFilter | undefined;
  #closed = false;

  constructor(id: number, client: Socket, rules: LinkRules) {
    this.id = id;
    this.#client = client;
    this.#rules = rules;
    this.#shapers = {
      up: new Shaper(
        () => rules.shape("up"),
        (item) => this.#deliver("up", item),
      ),
      down: new Shaper(
        () => rules.shape("down"),
        (item) => (this.#filter === undefined ? this.toClient(item) : this.#filter.down(item)),
      ),
    };
    client.setNoDelay(true);
    this.#listen(client, (item) => this.#fromClient(item));
  }

  /** Whether there is a connection to the server, or one is being made. */
  get dialed(): boolean {
    return this.#dialed;
  }

  get closed(): boolean {
    return this.#closed;
  }

  use(filter: LinkFilter | undefined): void {
    this.#filter = filter;
  }

  /** Connects to the server, unless that has been done. Bytes that wait for the connection follow in order. */
  dial(): void {
    if (this.#dialed || this.#closed) return;
    this.#dialed = true;
    const giveUpMs = performance.now() + this.#rules.dialForMs;
    const attempt = (): void => {
      const server = connect({ ...this.#rules.target, allowHalfOpen: true });
      server.setNoDelay(true);
      server.on("error", (error: NodeJS.ErrnoException) => {
        if (this.#closed || this.#server === server) return;
        if (error.code === "ECONNREFUSED" && performance.now() < giveUpMs) {
          this.#redial = setTimeout(attempt, redialMs);
        } else {
          // To the client, a server that cannot be reached looks like one that resets the connection.
          this.#server = server;
          this.#shapers.down.push("rst");
        }
      });
      server.once("connect", () => {
        if (this.#closed) {
          server.destroy();
          return;
        }
        this.#server = server;
        this.#listen(server, (item) => this.#shapers.down.push(item));
        for (const item of this.#early.splice(0)) this.#deliver("up", item);
      });
    };
    attempt();
  }

  /** Asks for the policy again: items that were held continue if they may. */
  flush(): void {
    for (const direction of ["up", "down"] as const) {
      const held = this.#held[direction];
      while (held.length > 0 && !this.#closed && this.#rules.policy(this, direction) === "pass") {
        const item = held.shift();
        if (item === undefined) break;
        if (direction === "up") this.#pastGate(item);
        else this.#deliver("down", item);
      }
    }
  }

  /** From the filter towards the server. */
  toServer(item: StreamItem): void {
    this.#shapers.up.push(item);
  }

  /** From the filter towards the client. @returns false when the policy swallowed the item. */
  toClient(item: StreamItem): boolean {
    const policy = this.#rules.policy(this, "down");
    if (policy === "swallow") {
      this.damaged.down = true;
      return false;
    }
    if (policy === "hold" || this.#held.down.length > 0) this.#held.down.push(item);
    else this.#deliver("down", item);
    return true;
  }

  /** Ends both sides in order, after everything that has been written. */
  close(): void {
    this.#finish((socket) => socket.destroySoon());
  }

  /** Sends RST to both sides, now. */
  reset(): void {
    this.#finish(resetSocket);
  }

  #listen(socket: Socket, take: (item: StreamItem) => void): void {
    socket.on("data", (bytes) => take(bytes));
    socket.on("end", () => take("fin"));
    socket.on("error", () => take("rst"));
    socket.on("close", () => {
      if (this.#client.destroyed && (this.#server?.destroyed ?? false)) this.#finish(() => {});
    });
  }

  #fromClient(item: StreamItem): void {
    const policy = this.#rules.policy(this, "up");
    if (policy === "swallow") {
      this.damaged.up = true;
      // A client that resets before the server was dialed ends the link: the server does not know of it, and nothing is
      // to be kept.
      if (!this.dialed && item === "rst") this.reset();
      return;
    }
    if (policy === "hold" || this.#held.up.length > 0) this.#held.up.push(item);
    else this.#pastGate(item);
  }

  #pastGate(item: StreamItem): void {
    if (this.#filter === undefined) this.toServer(item);
    else this.#filter.up(item);
  }

  #deliver(direction: Direction, item: StreamItem): void {
    const [source, sink] = direction === "up" ? [this.#client, this.#server] : [this.#server, this.#client];
    if (this.#closed) return;
    if (item === "rst") {
      this.reset();
    } else if (sink === undefined) {
      this.#early.push(item);
    } else if (item === "fin") {
      sink.end();
    } else {
      const allowed = this.#rules.allowance(direction, item.length);
      if (allowed !== undefined) {
        // FIN, not RST, follows the piece: a reset would make the receiver's kernel throw the piece away.
        this.#rules.delivered(direction, allowed);
        if (allowed > 0) sink.write(item.subarray(0, allowed));
        this.close();
        return;
      }
      this.#rules.delivered(direction, item.length);
      if (!sink.writable) return;
      sink.write(item);
      if (source !== undefined && sink.writableLength > highWaterBytes) {
        source.pause();
        sink.once("drain", () => source.resume());
      }
    }
  }

  #finish(end: (socket: Socket) => void): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#shapers.up.clear();
    this.#shapers.down.clear();
    this.#held.up.length = 0;
    this.#held.down.length = 0;
    this.#early.length = 0;
    clearTimeout(this.#redial);
    for (const socket of [this.#client, this.#server]) {
      if (socket === undefined || socket.destroyed) continue;
      socket.removeAllListeners("data");
      socket.resume(); // unread bytes would keep a half-closed socket open for ever
      end(socket);
    }
    this.#rules.closed(this);
  }
}
