import { TestServerError } from "../errors.js";
import { eventually } from "../eventually.js";
import { freePorts } from "../free-port.js";
import { requireRedis } from "../install/ensure.js";
import type { RedisProxy, RedisProxyOptions } from "../proxy/resp/redis-proxy.js";
import { ClientProxies } from "./client-proxies.js";
import { type ClusterRow, parseRow, shapeOf } from "./cluster-rows.js";
import { hashSlot, slotCount } from "./hash-slot.js";
import { RedisNode } from "./node.js";
import { RedisReplyError } from "./redis-connection.js";
import { dataLines, makeSecrets, type RedisAdmin, type RedisOptions } from "./redis-options.js";
import { SlotMove } from "./slot-move.js";
import { startLimitMs } from "./start.js";

const meetAgainMs = 2_000;

/** What `startRedisCluster()` takes. */
export interface StartRedisClusterOptions extends RedisOptions {
  /** How many masters share the slots; default 3, the least with which a failed one can be replaced. */
  masters?: number;
  /** How many replicas each master has; default 1. */
  replicas?: number;
  /** Silence after which a server counts as down, in milliseconds; default 2,000. */
  nodeTimeoutMs?: number;
  /**
   * Puts a `RedisProxy` in front of each server, only for clients. Then `addresses`, redirections and all addresses
   * that servers send are those of proxies. Default false. Not with TLS.
   */
  clientProxies?: boolean | Pick<RedisProxyOptions, "ignore" | "traceLimit">;
}

/** A real cluster on 127.0.0.1, one child process for each server. */
export class RedisCluster {
  /** All servers. At the start the masters come first, then the first replica of each, and so on. */
  readonly nodes: readonly RedisNode[];
  readonly #proxies: ClientProxies;
  readonly #admin: RedisAdmin | undefined;

  private constructor(nodes: readonly RedisNode[], proxies: ClientProxies, admin: RedisAdmin | undefined) {
    this.nodes = nodes;
    this.#proxies = proxies;
    this.#admin = admin;
  }

  /** Does what `startRedisCluster` does. */
  static async start(options: StartRedisClusterOptions = {}): Promise<RedisCluster> {
    const { masters = 3, replicas = 1, clientProxies = false } = options;
    const secrets = makeSecrets(options);
    if (secrets.tls !== undefined && clientProxies !== false) {
      throw new RangeError("startRedisCluster: proxies cannot read TLS");
    }
    const install = requireRedis();
    const startWithinMs = options.startWithinMs ?? startLimitMs;
    const count = masters * (1 + replicas);
    const ports = await freePorts(count);
    const busPorts = await freePorts(count);
    const nodes = ports.map((port, index) => {
      const lines = [
        "cluster-enabled yes",
        "cluster-config-file nodes.conf",
        `cluster-port ${busPorts[index]}`,
        `cluster-node-timeout ${options.nodeTimeoutMs ?? 2_000}`,
        "cluster-allow-replica-migration no", // a set of servers keeps its shape
        ...(secrets.tls !== undefined ? ["tls-cluster yes"] : []),
        ...dataLines(options, secrets),
      ];
      return new RedisNode({ install, secrets, startWithinMs, port, name: "redis", lines });
    });
    let proxies = new ClientProxies();
    try {
      await Promise.all(nodes.map((node) => node.spawn()));
      await Promise.all(nodes.map((node) => node.ready()));
      if (clientProxies !== false) {
        const proxyOptions = clientProxies === true ? {} : clientProxies;
        proxies = await ClientProxies.open(nodes, (node) => node.port, proxyOptions);
      }
      const cluster = new RedisCluster(nodes, proxies, secrets.admin);
      await cluster.#form(masters, busPorts);
      return cluster;
    } catch (error) {
      await Promise.all([...nodes.map((node) => node.stop()), proxies.close()]);
      throw error;
    }
  }

  /** Where clients find the servers. */
  get addresses(): { host: string; port: number }[] {
    return this.nodes.map((node) => this.#proxies.addressOf(node));
  }

  /** The proxy in front of a server. Needs `clientProxies`. */
  proxyOf(node: RedisNode): RedisProxy {
    return this.#proxies.of(node);
  }

  /** The slot of a key. */
  slotOf(key: string): number {
    return hashSlot(key);
  }

  /** The master that serves a slot now. Waits until the running servers agree. */
  nodeOfSlot(slot: number): Promise<RedisNode> {
    if (!Number.isInteger(slot) || slot < 0 || slot >= slotCount) {
      throw new RangeError(`there is no slot ${slot}`);
    }
    return eventually(
      async () => {
        const owners = await Promise.all(this.#running().map((node) => this.#ownerAsSeenBy(node, slot)));
        const [owner] = owners;
        return owner?.running && owners.every((other) => other === owner) ? owner : undefined;
      },
      { what: `the servers to agree who has slot ${slot}` },
    );
  }

  /** The master that serves a key now. */
  nodeOfKey(key: string): Promise<RedisNode> {
    return this.nodeOfSlot(hashSlot(key));
  }

  /** The running replicas of a master, as the master sees them. */
  async replicasOf(master: RedisNode): Promise<RedisNode[]> {
    const rows = await this.#rows(master);
    const own = rows.find(({ flags }) => flags.includes("myself"));
    return this.nodes.filter((node) =>
      rows.some(({ port, masterId }) => port === node.port && masterId === own?.id && node.running),
    );
  }

  /**
   * Lets a replica take over from its master, with the master's consent. Resolves when all running servers know the new
   * master.
   *
   * @param node the master, or the replica that takes its place.
   * @returns the new master.
   */
  async failover(node: RedisNode): Promise<RedisNode> {
    const { role } = await node.role();
    const replica = role === "replica" ? node : (await this.replicasOf(node))[0];
    if (replica === undefined) throw new TestServerError(`redis on port ${node.port} has no replica`);
    await replica.command("CLUSTER", "FAILOVER");
    await this.untilMaster(replica);
    return replica;
  }

  /** Sends SIGKILL to a server. Its replica takes over some time after the node timeout. */
  async kill(node: RedisNode): Promise<void> {
    await node.kill();
  }

  /** Waits until all running servers see this one as a master. */
  async untilMaster(node: RedisNode, withinMs = 20_000): Promise<void> {
    await eventually(
      async () => {
        const views = await Promise.all(this.#running().map((other) => this.#rows(other)));
        return views.every((rows) => {
          const row = rows.find(({ port }) => port === node.port);
          return row?.flags.includes("master") && row.ranges.length > 0;
        });
      },
      { what: `redis on port ${node.port} to be a master`, withinMs },
    );
  }

  /**
   * Waits until all running servers report that the cluster is well and agree which server has which slot, and all
   * running replicas follow their masters.
   * @throws TestServerError with what was seen last.
   */
  async ready(withinMs = 20_000): Promise<void> {
    let seen = "";
    await eventually(
      async () => {
        const running = this.#running();
        const states = await Promise.all(running.map((node) => node.command("CLUSTER", "INFO")));
        const views = await Promise.all(running.map((node) => this.#rows(node)));
        seen = states.map((state) => String(state).split("\r\n", 5).join(" ")).join("\n");
        if (!states.every((state) => /^cluster_state:ok\r$/m.test(String(state)))) return false;
        const shapes = new Set(views.map((rows) => shapeOf(rows)));
        seen += `\n${[...shapes].join("\n")}`;
        if (shapes.size !== 1 || views.some((rows) => rows.length !== this.nodes.length)) return false;
        if (!views.every((rows) => this.#linksAreUp(rows))) return false;
        const roles = await Promise.all(running.map((node) => node.role()));
        seen += `\n${JSON.stringify(roles)}`;
        return roles.every(({ role, link }) => role === "master" || link === "connected");
      },
      { what: "the cluster to be well", withinMs, detail: () => seen },
    );
  }

  /** Moves a slot with its keys, and resolves when all servers agree. */
  async moveSlot(slot: number, from: RedisNode, to: RedisNode): Promise<void> {
    const move = await this.startMove(slot, from, to);
    await move.moveKeys();
    await move.finish();
    await eventually(async () => (await this.nodeOfSlot(slot)) === to, {
      what: `slot ${slot} to be at redis on port ${to.port}`,
    });
  }

  /** Begins to move a slot and stops there, for clients that meet a slot that is being moved. */
  async startMove(slot: number, from: RedisNode, to: RedisNode): Promise<SlotMove> {
    const roles = await Promise.all(this.#running().map(async (node) => ({ node, ...(await node.role()) })));
    const masters = roles.filter(({ role }) => role === "master").map(({ node }) => node);
    return SlotMove.begin(slot, from, to, masters, this.#admin);
  }

  /** Ends all servers and removes their data. */
  async stop(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.stop()));
    await this.#proxies.close();
  }

  /** `stop()`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #form(masters: number, busPorts: readonly number[]): Promise<void> {
    const { nodes } = this;
    // Each server gets its own epoch. Equal epochs would be a collision, and resolving it takes time.
    for (const [index, node] of nodes.entries()) await node.command("CLUSTER", "SET-CONFIG-EPOCH", index + 1);
    for (const [index, node] of nodes.slice(0, masters).entries()) {
      const first = Math.floor((slotCount * index) / masters);
      const last = Math.floor((slotCount * (index + 1)) / masters) - 1;
      await node.command("CLUSTER", "ADDSLOTSRANGE", first, last);
    }
    // Each server meets all that follow it. Gossip would connect them too, a second or two later.
    for (const [index, node] of nodes.entries()) {
      for (let other = index + 1; other < nodes.length; other++) {
        await node.command("CLUSTER", "MEET", "127.0.0.1", nodes[other]?.port ?? 0, busPorts[other] ?? 0);
      }
    }
    for (const [index, node] of nodes.entries()) {
      const master = nodes[index % masters];
      if (index < masters || master === undefined) continue;
      const id = String(await master.command("CLUSTER", "MYID"));
      let metMs = performance.now();
      await eventually(
        async () => {
          try {
            return await node.command("CLUSTER", "REPLICATE", id);
          } catch (error) {
            // Until the two have shaken hands, the replica does not know the node that it has to follow.
            if (!(error instanceof RedisReplyError)) throw error;
            // A server gives up a handshake after a second or the node time-out, as on a busy machine, and does not
            // begin another.
            if (performance.now() - metMs > meetAgainMs) {
              metMs = performance.now();
              await master.command("CLUSTER", "MEET", "127.0.0.1", node.port, busPorts[index] ?? 0);
            }
            return undefined;
          }
        },
        { what: `redis on port ${node.port} to follow the one on port ${master.port}` },
      );
    }
    await this.ready();
  }

  #running(): RedisNode[] {
    return this.nodes.filter(({ running }) => running);
  }

  async #ownerAsSeenBy(node: RedisNode, slot: number): Promise<RedisNode | undefined> {
    const rows = await this.#rows(node);
    const row = rows.find(({ ranges }) => ranges.some(([first, last]) => first <= slot && slot <= last));
    return this.nodes.find(({ port }) => port === row?.port);
  }

  #linksAreUp(rows: readonly ClusterRow[]): boolean {
    return this.#running().every(({ port }) =>
      rows.some(
        (row) => row.port === port && row.linked && !row.flags.some((flag) => flag.startsWith("fail")),
      ),
    );
  }

  async #rows(node: RedisNode): Promise<ClusterRow[]> {
    const text = String(await node.command("CLUSTER", "NODES"));
    return text.trimEnd().split("\n").map(parseRow);
  }
}

/**
 * Starts servers, makes a cluster of them and resolves when all of them report that it is well.
 *
 * @throws NotInstalledError when there is no server on this machine (`npx holdfast-servers ensure` gets one).
 * @throws TestServerError with the end of a server's log when it does not come up.
 */
export function startRedisCluster(options: StartRedisClusterOptions = {}): Promise<RedisCluster> {
  return RedisCluster.start(options);
}
