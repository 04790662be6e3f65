import { freePort } from "../free-port.js";
import type { Link, LinkFilter } from "../proxy/link.js";
import type { StreamItem } from "../proxy/shaper.js";
import { TcpProxy } from "../proxy/tcp-proxy.js";

/** In how many bytes of a connection the introduction of a replica is looked for. */
const introductionBytes = 4_096;

// What a replica sends before it asks for the stream: the port at which it is to be announced.
const introduction = /\r\nlistening-port\r\n\$\d+\r\n(\d+)\r\n/i;

/**
 * The proxy in front of a server. Sentinels, replicas and clients are given its port instead of the server's. It
 * recognises the connections of replicas by their introduction, and holds up those that are cut.
 *
 * A cut holds bytes back and delivers them when it is healed, like a network that repeats what was lost. A replica that
 * is stopped instead still gets everything that the kernel received for it meanwhile.
 */
export class ReplicationGate extends TcpProxy {
  readonly #cut = new Set<number>();
  readonly #links = new Set<ReplicaLink>();

  static async open(target: { host: string; port: number }, name: string): Promise<ReplicationGate> {
    const gate = new ReplicationGate({ target, name, dialForMs: 0 }, await freePort());
    await gate.listen();
    return gate;
  }

  /** Stops all traffic between the server and the replica that is announced at `port`. */
  cut(port: number): void {
    this.#cut.add(port);
  }

  heal(port: number): void {
    this.#cut.delete(port);
    for (const link of this.#links) link.flush();
  }

  protected override filterFor(link: Link): LinkFilter {
    for (const old of this.#links) if (old.closed) this.#links.delete(old);
    const filter = new ReplicaLink(link, (port) => this.#cut.has(port));
    this.#links.add(filter);
    return filter;
  }
}

class ReplicaLink implements LinkFilter {
  readonly #link: Link;
  readonly #isCut: (port: number) => boolean;
  readonly #held: { up: StreamItem[]; down: StreamItem[] } = { up: [], down: [] };
  #said: Buffer | undefined = Buffer.alloc(0);
  #port: number | undefined;

  constructor(link: Link, isCut: (port: number) => boolean) {
    this.#link = link;
    this.#isCut = isCut;
  }

  get closed(): boolean {
    return this.#link.closed;
  }

  up(item: StreamItem): void {
    this.#listen(item);
    if (this.#holds) this.#held.up.push(item);
    else this.#link.toServer(item);
  }

  down(item: StreamItem): void {
    if (this.#holds) this.#held.down.push(item);
    else this.#link.toClient(item);
  }

  flush(): void {
    if (this.#holds) return;
    for (const item of this.#held.up.splice(0)) this.#link.toServer(item);
    for (const item of this.#held.down.splice(0)) this.#link.toClient(item);
  }

  get #holds(): boolean {
    return this.#port !== undefined && this.#isCut(this.#port);
  }

  #listen(item: StreamItem): void {
    if (this.#said === undefined || typeof item === "string") return;
    this.#said = Buffer.concat([this.#said, item]);
    const port = introduction.exec(this.#said.toString("latin1"))?.[1];
    if (port !== undefined) this.#port = Number(port);
    if (port !== undefined || this.#said.length > introductionBytes) this.#said = undefined;
  }
}
