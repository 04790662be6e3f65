import { TestServerError } from "../errors.js";
import { eventually } from "../eventually.js";
import { freePort, freePorts } from "../free-port.js";
import { requireZooKeeper } from "../install/ensure.js";
import { checkPlaces, loopback, type ServerPlace } from "../process/server-place.js";
import type { ServerMode } from "./four-letter-word.js";
import { ZooKeeperNode } from "./node.js";
import type { ZooKeeperOptions } from "./node-files.js";
import { type PeerPorts, QuorumLinks } from "./quorum-links.js";

/** What `startEnsemble()` takes. */
export interface StartEnsembleOptions extends ZooKeeperOptions {
  /** How many servers; default 3. */
  nodes?: number;
  /** Client ports, one for each server; default fresh ones. */
  ports?: readonly number[];
  /** Ticks after which a leader and a follower that get nothing from each other part; default 5. */
  syncLimit?: number;
  /** Ticks that a follower has to connect and catch up; default 20. */
  initLimit?: number;
  /**
   * Puts proxies between the servers, which `cutNode` and `cut` need; default false. The proxies run in this process:
   * while its event loop is blocked, the servers do not reach each other.
   */
  quorumProxies?: boolean;
  /** Where each server runs; default all on 127.0.0.1. Not with proxies between the servers. */
  places?: readonly ServerPlace[];
}

/** A real ensemble on 127.0.0.1, unless placed elsewhere, with one child process for each server. */
export class ZooKeeperEnsemble {
  /** All servers, in the order of their ids. */
  readonly nodes: readonly ZooKeeperNode[];
  /** All servers, for a client of the ensemble. */
  readonly connectString: string;
  readonly #links: QuorumLinks;
  readonly #startWithinMs: number;

  private constructor(nodes: readonly ZooKeeperNode[], links: QuorumLinks, startWithinMs: number) {
    this.nodes = nodes;
    this.connectString = nodes.map((node) => node.connectString).join(",");
    this.#links = links;
    this.#startWithinMs = startWithinMs;
  }

  /** Does what `startEnsemble` does. */
  static async start(options: StartEnsembleOptions = {}): Promise<ZooKeeperEnsemble> {
    const install = requireZooKeeper();
    const count = options.ports?.length ?? options.nodes ?? 3;
    if (options.nodes !== undefined && options.nodes !== count) {
      throw new RangeError(`startEnsemble: ${options.nodes} nodes, but ${count} ports`);
    }
    if (!Number.isInteger(count) || count < 2) {
      throw new RangeError(`startEnsemble: an ensemble has 2 nodes or more, not ${count}`);
    }
    const { places } = options;
    checkPlaces("startEnsemble", places, count);
    if (places !== undefined && options.quorumProxies === true) {
      throw new RangeError("startEnsemble: servers that are placed elsewhere do not reach proxies");
    }
    const peers: PeerPorts[] = [];
    for (let id = 1; id <= count; id++) {
      const [quorumPort = 0, electionPort = 0] = await freePorts(2);
      peers.push({ id, quorumPort, electionPort, host: places?.[id - 1]?.address ?? loopback });
    }
    const links = await QuorumLinks.open(peers, options.quorumProxies ?? false);
    const limits = [`initLimit=${options.initLimit ?? 20}`, `syncLimit=${options.syncLimit ?? 5}`];
    const nodes: ZooKeeperNode[] = [];
    try {
      for (const [index, { id }] of peers.entries()) {
        const port = options.ports?.[index] ?? (await freePort());
        const adminPort = options.adminServer === true ? await freePort() : undefined;
        const lines = [...limits, ...links.linesFor(id)];
        const at = places?.[index];
        nodes.push(new ZooKeeperNode({ install, id, port, adminPort, lines, at }, options));
      }
    } catch (error) {
      await Promise.all(nodes.map((node) => node.stop()));
      await links.close();
      throw error;
    }
    const ensemble = new ZooKeeperEnsemble(nodes, links, options.startWithinMs ?? 30_000);
    try {
      await Promise.all(nodes.map((node) => node.spawn()));
      await ensemble.ready();
    } catch (error) {
      await ensemble.stop();
      throw error;
    }
    return ensemble;
  }

  /**
   * Waits until the running servers are one leader and its followers, all serve, and all report this in one check. A
   * server that serves may be about to leave: an old leader that was cut off reports for a while that it leads.
   * @throws TestServerError with what each server reported, and the ends of all logs.
   */
  async ready(withinMs: number = this.#startWithinMs): Promise<void> {
    const endMs = performance.now() + withinMs;
    const running = this.nodes.filter((node) => node.running);
    await Promise.all(running.map((node) => node.ready(withinMs)));
    const leftMs = Math.max(1_000, endMs - performance.now());
    await this.#electedWith(running, "one leader that all servers that run follow", leftMs);
  }

  /** The role that each server reports now; undefined for one that does not serve. */
  async roles(): Promise<Map<ZooKeeperNode, ServerMode | undefined>> {
    const modes = await Promise.all(this.nodes.map((node) => node.mode()));
    return new Map(this.nodes.map((node, index) => [node, modes[index]]));
  }

  /** The servers that report this role. A leader that was cut off still reports it for a while. */
  async byRole(role: ServerMode): Promise<ZooKeeperNode[]> {
    const roles = await this.roles();
    return this.nodes.filter((node) => roles.get(node) === role);
  }

  /**
   * The leader. Waits until there is exactly one with a quorum: around an election there may be none, or an old one
   * that does not know of its end yet.
   * @throws TestServerError after `withinMs` (default 30,000), with what each server reported.
   */
  leader(withinMs: number = this.#startWithinMs): Promise<ZooKeeperNode> {
    return this.#electedWith([], "one leader with a quorum", withinMs);
  }

  /** The followers, once there is a leader. */
  async followers(): Promise<ZooKeeperNode[]> {
    await this.leader();
    return this.byRole("follower");
  }

  /** Cuts a server from all its peers, both ways. Clients still reach it. Needs `quorumProxies`. */
  async cutNode(node: ZooKeeperNode): Promise<void> {
    for (const peer of this.nodes) {
      if (peer === node) continue;
      await this.cut(node, peer);
      await this.cut(peer, node);
    }
  }

  /** Undoes `cutNode` and `cut` for a server. What was held back is delivered. */
  async healNode(node: ZooKeeperNode): Promise<void> {
    for (const peer of this.nodes) {
      if (peer === node) continue;
      await this.heal(node, peer);
      await this.heal(peer, node);
    }
  }

  /** Stops everything from one server to another; the way back stays open. Needs `quorumProxies`. */
  async cut(from: ZooKeeperNode, to: ZooKeeperNode): Promise<void> {
    if (!this.#links.proxied)
      throw new TestServerError("to cut servers apart, start with quorumProxies: true");
    await this.#links.cut(from.id, to.id);
  }

  /** Ends `cut`. */
  async heal(from: ZooKeeperNode, to: ZooKeeperNode): Promise<void> {
    await this.#links.heal(from.id, to.id);
  }

  /** The only leader, once it has a quorum and all `members` serve. */
  #electedWith(members: readonly ZooKeeperNode[], what: string, withinMs: number): Promise<ZooKeeperNode> {
    let seen = new Map<ZooKeeperNode, ServerMode | undefined>();
    return eventually(
      async () => {
        seen = await this.roles();
        const leaders = this.nodes.filter((node) => seen.get(node) === "leader");
        const followers = this.nodes.filter((node) => seen.get(node) === "follower");
        const quorum = Math.floor(this.nodes.length / 2) + 1;
        const whole = members.every((node) => seen.get(node) !== undefined);
        return whole && leaders.length === 1 && followers.length >= quorum - 1 ? leaders[0] : undefined;
      },
      {
        what,
        withinMs,
        everyMs: 25,
        detail: () =>
          this.nodes
            .map((node) => `server ${node.id}: ${seen.get(node) ?? "not serving"}; ${node.logTail(15)}`)
            .join("\n"),
      },
    );
  }

  /** Ends all servers and removes their data. */
  async stop(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.stop()));
    await this.#links.close();
  }

  /** `stop()`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

/**
 * Starts an ensemble and resolves when it has a leader and all others follow.
 *
 * @throws NotInstalledError when there is no server on this machine (`npx holdfast-servers ensure` gets one).
 * @throws TestServerError with the ends of the servers' logs when it does not come up.
 */
export function startEnsemble(options: StartEnsembleOptions = {}): Promise<ZooKeeperEnsemble> {
  return ZooKeeperEnsemble.start(options);
}
