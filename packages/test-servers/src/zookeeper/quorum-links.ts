import { loopback } from "../process/server-place.js";
import type { ProxyMode, TcpProxy } from "../proxy/tcp-proxy.js";
import { startProxy } from "../proxy/tcp-proxy.js";
import { ElectionProxy } from "./election-proxy.js";

/** The ports at which a server of an ensemble accepts its peers. */
export interface PeerPorts {
  id: number;
  /** Default 127.0.0.1. */
  host?: string;
  quorumPort: number;
  electionPort: number;
}

/**
 * The `server.N` lines of an ensemble. On request it also puts proxies on every way from one server to another, so that
 * servers can be cut from each other while clients still reach them.
 *
 * A cut holds bytes back and delivers them when it is healed, like a network that repeats what was lost. So a cut that
 * is shorter than the servers' time-outs passes without a trace. After a longer one the servers connect anew.
 */
export class QuorumLinks {
  readonly #peers: readonly PeerPorts[];
  readonly #proxies = new Map<string, { quorum: TcpProxy; election: ElectionProxy }>();
  /** Ordered pairs of servers: nothing gets through from the first to the second. */
  readonly #cut = new Set<string>();

  private constructor(peers: readonly PeerPorts[]) {
    this.#peers = peers;
  }

  static async open(peers: readonly PeerPorts[], proxies: boolean): Promise<QuorumLinks> {
    const links = new QuorumLinks(peers);
    if (proxies) await links.#startProxies();
    return links;
  }

  /** Lines of `zoo.cfg` for the server `id`: its own ports unchanged, and for its peers the ports of the proxies. */
  linesFor(id: number): string[] {
    return this.#peers.map((peer) => {
      const way = this.#proxies.get(pair(id, peer.id));
      const quorumPort = way?.quorum.port ?? peer.quorumPort;
      const electionPort = way?.election.port ?? peer.electionPort;
      const host = (way === undefined ? peer.host : undefined) ?? loopback;
      return `server.${peer.id}=${host}:${quorumPort}:${electionPort}`;
    });
  }

  get proxied(): boolean {
    return this.#proxies.size > 0;
  }

  /** From now on nothing gets from one server to the other; the way back is not affected. */
  async cut(from: number, to: number): Promise<void> {
    this.#cut.add(pair(from, to));
    await this.#apply(from, to);
  }

  async heal(from: number, to: number): Promise<void> {
    this.#cut.delete(pair(from, to));
    await this.#apply(from, to);
  }

  async close(): Promise<void> {
    const all = [...this.#proxies.values()].flatMap(({ quorum, election }) => [quorum, election]);
    await Promise.all(all.map((proxy) => proxy.close()));
  }

  async #startProxies(): Promise<void> {
    for (const from of this.#peers) {
      for (const to of this.#peers) {
        if (from === to) continue;
        const way = (what: string, port: number) => ({
          target: { host: to.host ?? loopback, port },
          // A follower may be faster than the new leader. If it were refused, it would look for another leader, while
          // the new one waits initLimit for followers. So the proxy tries again for a while.
          name: `${what} link ${from.id} to ${to.id}`,
          dialForMs: 2_000,
        });
        this.#proxies.set(pair(from.id, to.id), {
          quorum: await startProxy(way("quorum", to.quorumPort)),
          election: await ElectionProxy.start(way("election", to.electionPort)),
        });
      }
    }
    for (const from of this.#peers) {
      for (const to of this.#peers) {
        const way = this.#proxies.get(pair(from.id, to.id));
        if (way !== undefined) {
          way.election.callBackAt = this.#proxies.get(pair(to.id, from.id))?.election.connectString;
        }
      }
    }
  }

  /** What `from` sends to `to` travels up the connections that `from` opened, and down those that it accepted. */
  async #apply(from: number, to: number): Promise<void> {
    for (const [opener, acceptor] of [
      [from, to],
      [to, from],
    ] as const) {
      const way = this.#proxies.get(pair(opener, acceptor));
      if (way === undefined) continue;
      const up = this.#cut.has(pair(opener, acceptor));
      const down = this.#cut.has(pair(acceptor, opener));
      const mode: ProxyMode = up && down ? "stall" : up ? "stall-up" : down ? "stall-down" : "ok";
      await Promise.all([way.quorum.setMode(mode), way.election.setMode(mode)]);
    }
  }
}

function pair(from: number, to: number): string {
  return `${from}>${to}`;
}
