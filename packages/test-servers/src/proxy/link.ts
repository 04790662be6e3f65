import { connect, type Socket } from "node:net";
import { resetSocket } from "../reset-socket.js";
import { type Shape, Shaper, type StreamItem } from "./shaper.js";

/** The direction as seen from the client: `up` goes to the server, `down` comes back. */
export type Direction = "up" | "down";

/** What the proxy does with the items of one direction at this moment. */
export type Policy = "pass" | "swallow" | "hold";

/** Reads along and may hold or drop; made once for each connection. */
export interface LinkFilter {
  up(item: StreamItem): void;
  down(item: StreamItem): void;
}

/** What a link asks of its proxy, each time anew, because a mode may change at any moment. */
export interface LinkRules {
  target: { host: string; port: number };
  /** How long to try again when the server refuses the connection, in milliseconds. */
  dialForMs: number;
  shape(direction: Direction): Shape;
  policy(link: Link, direction: Direction): Policy;
  /** How many of `length` bytes may still be delivered before the connection is to be cut; undefined for all. */
  allowance(direction: Direction, length: number): number | undefined;
  delivered(direction: Direction, length: number): void;
  closed(link: Link): void;
}

const redialMs = 20;

// With more undelivered bytes than this the source is not read any more.
const highWaterBytes = 1 << 20;

/**
 * One proxied connection.
 *
 *     client > gate > filter > shaper > server
 *     client < gate < filter < shaper < server
 *
 * The gate is on the client's side, so a filter sees what came through from the client and what the server said.
 */
export class Link {
  /** 1 for the first connection of a proxy, counting on. */
  readonly id: number;
  /** Directions in which bytes, an end or a reset were swallowed: their streams have gaps. */
  readonly damaged: { up: boolean; down: boolean } = { up: false, down: false };
  readonly #client: Socket;
  readonly #rules: LinkRules;
  readonly #shapers: { up: Shaper; down: Shaper };
  readonly #held: { up: StreamItem[]; down: StreamItem[] } = { up: [], down: [] };
  /** What is due to the server before there is a connection to it. */
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

  /** Connects to the server, if that has not been done. Bytes that wait for it follow in order. */
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

  /** Looks at the policy again: what was held goes on if it may. */
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

  /** From the filter towards the client. @returns false when it was swallowed on the way. */
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

  /** Ends both sides in order, after what has been written. */
  close(): void {
    this.#finish((socket) => socket.destroySoon());
  }

  /** RST to both sides, now. */
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
      // A client that resets before the server was dialed ends the link: the server knows nothing of it, and nothing has to be kept.
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
        // FIN, not RST, behind the piece: a reset would make the receiver's kernel throw the piece away.
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
      socket.resume(); // an unread rest would keep a half-closed socket open for ever
      end(socket);
    }
    this.#rules.closed(this);
  }
}
