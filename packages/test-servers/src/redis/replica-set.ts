import { randomBytes } from "node:crypto";
import { TestServerError, UnreachableError } from "../errors.js";
import { eventually } from "../eventually.js";
import { freePort } from "../free-port.js";
import { requireRedis } from "../install/ensure.js";
import { checkPlaces, loopback } from "../process/server-place.js";
import type { RedisProxy } from "../proxy/resp/redis-proxy.js";
import { ClientProxies } from "./client-proxies.js";
import { RedisNode, type RedisRole } from "./node.js";
import { RedisReplyError } from "./redis-connection.js";
import { dataLines, makeSecrets } from "./redis-options.js";
import type { RedisProcess } from "./redis-process.js";
import type { StartRedisReplicaSetOptions } from "./replica-set-options.js";
import { ReplicationGate } from "./replication-gate.js";
import { RedisSentinel } from "./sentinel.js";
import { startLimitMs } from "./start.js";

/** Which master to wait for, and for how long. */
export interface UntilMasterOptions {
  /** Accepts only this one. */
  is?: RedisNode;
  /** Accepts any but this one. */
  not?: RedisNode;
  /** How long to wait for a master. Milliseconds; default 20,000. */
  withinMs?: number;
  /** When it aborts, the wait rejects with its reason. */
  signal?: AbortSignal;
}

/** A master, its replicas and their Sentinels on 127.0.0.1, unless placed elsewhere, one child process each. */
export class RedisReplicaSet {
  /** All data servers; the first was the master at the start. */
  readonly nodes: readonly RedisNode[];
  /** All Sentinels. */
  readonly sentinels: readonly RedisSentinel[];
  /** The name of the master for Sentinel's clients. */
  readonly name: string;
  readonly #gates: ReadonlyMap<RedisNode, ReplicationGate>;
  readonly #proxies: ClientProxies;

  private constructor(
    name: string,
    nodes: readonly RedisNode[],
    sentinels: readonly RedisSentinel[],
    gates: ReadonlyMap<RedisNode, ReplicationGate>,
    proxies: ClientProxies,
  ) {
    this.name = name;
    this.nodes = nodes;
    this.sentinels = sentinels;
    this.#gates = gates;
    this.#proxies = proxies;
  }

  /** Does what `startRedisReplicaSet` does. */
  static async start(options: StartRedisReplicaSetOptions = {}): Promise<RedisReplicaSet> {
    const { replicas = 2, sentinels = 3, name = "holdfast", clientProxies = false } = options;
    const secrets = makeSecrets(options);
    if (secrets.tls !== undefined && (options.replicationProxies === true || clientProxies !== false)) {
      throw new RangeError("startRedisReplicaSet: proxies cannot read TLS");
    }
    const { places, sentinelPlaces = places?.slice(0, sentinels) } = options;
    checkPlaces("startRedisReplicaSet", places, replicas + 1);
    checkPlaces("startRedisReplicaSet", sentinelPlaces, sentinels);
    if (places !== undefined && (options.replicationProxies === true || clientProxies !== false)) {
      throw new RangeError("startRedisReplicaSet: servers that are placed elsewhere do not reach proxies");
    }
    const install = requireRedis();
    const startWithinMs = options.startWithinMs ?? startLimitMs;
    const common = { install, secrets, startWithinMs };
    const gates = new Map<RedisNode, ReplicationGate>();
    const nodes: RedisNode[] = [];
    const watchers: RedisSentinel[] = [];
    let proxies = new ClientProxies();
    try {
      let master: { host: string; port: number } | undefined;
      for (let index = 0; index <= replicas; index++) {
        const port = await freePort();
        const gate =
          options.replicationProxies === true
            ? await ReplicationGate.open({ host: "127.0.0.1", port }, `gate of redis on port ${port}`)
            : undefined;
        const announced = gate?.port ?? port;
        const lines = [
          ...(gate === undefined
            ? []
            : ["replica-announce-ip 127.0.0.1", `replica-announce-port ${announced}`]),
          ...(master === undefined ? [] : [`replicaof ${master.host} ${master.port}`]),
          ...dataLines(options, secrets),
        ];
        const at = places?.[index];
        const node = new RedisNode({ ...common, port, name: "redis", lines, at });
        master ??= { host: node.host, port: announced };
        nodes.push(node);
        if (gate !== undefined) gates.set(node, gate);
      }
      const announcedPort = (node: RedisProcess): number => gates.get(node as RedisNode)?.port ?? node.port;
      await Promise.all(nodes.map((node) => node.spawn()));
      await Promise.all(nodes.map((node) => node.ready()));
      // Otherwise a Sentinel's first INFO would report that they do not follow, and it would believe that for ten
      // seconds.
      for (const replica of nodes.slice(1)) {
        await eventually(async () => (await replica.role()).link === "connected", {
          what: `redis on port ${replica.port} to follow its master`,
          detail: () => replica.logTail(),
        });
      }

      // Sentinels find each other and the replicas by themselves, in two seconds or, when they miss the first INFO, in
      // ten. They also believe their file about what they found before, so it lists them here.
      const fellows: { host: string; port: number; id: string }[] = [];
      for (let index = 0; index < sentinels; index++) {
        const host = sentinelPlaces?.[index]?.address ?? loopback;
        fellows.push({ host, port: await freePort(), id: randomBytes(20).toString("hex") });
      }
      for (const [index, self] of fellows.entries()) {
        const { admin } = secrets;
        const lines = [
          `sentinel myid ${self.id}`,
          `sentinel monitor ${name} ${master?.host} ${master?.port} ${Math.floor(sentinels / 2) + 1}`,
          `sentinel down-after-milliseconds ${name} ${options.downAfterMs ?? 1_000}`,
          `sentinel failover-timeout ${name} ${options.failoverTimeoutMs ?? 3_000}`,
          ...(admin === undefined
            ? []
            : [
                `sentinel auth-user ${name} ${admin.username}`,
                `sentinel auth-pass ${name} ${admin.password}`,
              ]),
          ...nodes
            .slice(1)
            .map((node) => `sentinel known-replica ${name} ${node.host} ${announcedPort(node)}`),
          ...fellows
            .filter((other) => other !== self)
            .map((other) => `sentinel known-sentinel ${name} ${other.host} ${other.port} ${other.id}`),
        ];
        const at = sentinelPlaces?.[index];
        const place = { ...common, port: self.port, name: "sentinel", lines, at };
        watchers.push(new RedisSentinel(place, options.sentinelPeriods ?? {}));
      }
      await Promise.all(watchers.map((watcher) => watcher.spawn()));
      await Promise.all(watchers.map((watcher) => watcher.ready()));
      if (clientProxies !== false) {
        const proxyOptions = clientProxies === true ? {} : clientProxies;
        proxies = await ClientProxies.open([...nodes, ...watchers], announcedPort, proxyOptions);
      }
      const set = new RedisReplicaSet(name, nodes, watchers, gates, proxies);
      await set.ready();
      return set;
    } catch (error) {
      await stopAll(nodes, watchers, gates, proxies);
      throw error;
    }
  }

  /** Where clients find the Sentinels. */
  get sentinelAddresses(): { host: string; port: number }[] {
    return this.sentinels.map((sentinel) => this.#proxies.addressOf(sentinel));
  }

  /** The proxy in front of a server or a Sentinel. Needs `clientProxies`. */
  proxyOf(server: RedisNode | RedisSentinel): RedisProxy {
    return this.#proxies.of(server);
  }

  /** The port at which Sentinels, replicas and, without `clientProxies`, clients know a server. */
  announcedPort(node: RedisNode): number {
    return this.#gates.get(node)?.port ?? node.port;
  }

  /**
   * Waits until the running servers are one master and replicas that follow it, and until the running Sentinels know
   * these servers and each other and reach them.
   * @throws TestServerError with what was seen last.
   */
  async ready(withinMs = 20_000): Promise<void> {
    let seen = "";
    await eventually(
      async () => {
        const { master, told } = await this.#look();
        seen = told;
        if (master === undefined) return false;
        const running = this.nodes.filter((node) => node.running);
        const { replicas = 0 } = await master.role();
        seen = `${told} and has ${replicas} replicas`;
        if (replicas < running.length - 1) return false;
        for (const node of running) {
          if (node === master) continue;
          const role = await node.role();
          seen = `${told}; redis on port ${node.port}: ${JSON.stringify(role)}`;
          if (role.masterPort !== this.announcedPort(master) || role.link !== "connected") return false;
        }
        const sentinels = this.sentinels.filter((sentinel) => sentinel.running);
        for (const sentinel of sentinels) {
          const missed = await sentinel.misses(this.name, running.length - 1, sentinels.length - 1);
          seen = `${told}; sentinel on port ${sentinel.port} sees ${missed}; ${sentinel.logTail()}`;
          if (missed !== undefined) return false;
        }
        return true;
      },
      { what: "the replica set to be whole", withinMs, detail: () => seen },
    );
  }

  /**
   * The master: the server that reports this role and that all running Sentinels name. Waits for it, because around a
   * failover there may be none or two.
   */
  master(withinMs?: number): Promise<RedisNode> {
    return this.untilMaster(withinMs === undefined ? {} : { withinMs });
  }

  /** The role that each server reports; undefined for one that does not answer within 400 ms. */
  async roles(): Promise<Map<RedisNode, RedisRole | undefined>> {
    const told = await Promise.all(
      this.nodes.map(async (node) => {
        if (!node.running) return undefined;
        try {
          return await node.role({ timeoutMs: 400 });
        } catch (error) {
          if (error instanceof UnreachableError) return undefined;
          throw error;
        }
      }),
    );
    return new Map(this.nodes.map((node, index) => [node, told[index]]));
  }

  /** The servers that follow the master now. */
  async replicas(): Promise<RedisNode[]> {
    const master = await this.master();
    const roles = await this.roles();
    return this.nodes.filter((node) => node !== master && roles.get(node)?.role === "replica");
  }

  /** Waits for a master, as `master` does. @throws TestServerError with what the Sentinels and the server reported. */
  untilMaster(options: UntilMasterOptions = {}): Promise<RedisNode> {
    let seen = "";
    return eventually(
      async () => {
        const { master, told } = await this.#look();
        seen = told;
        if (master === undefined || master === options.not) return undefined;
        return options.is === undefined || options.is === master ? master : undefined;
      },
      {
        what: "a master",
        withinMs: options.withinMs ?? 20_000,
        everyMs: 10,
        detail: () => seen,
        ...(options.signal === undefined ? {} : { signal: options.signal }),
      },
    );
  }

  /**
   * SENTINEL FAILOVER: a replica takes over while the master is well. Resolves with the new master when all Sentinels
   * name it. The old master serves its connected clients until Sentinels make it a replica, by default 10 s later.
   */
  async failover(withinMs = 20_000): Promise<RedisNode> {
    const endMs = performance.now() + withinMs;
    const not = await this.master(withinMs);
    const sentinel = this.sentinels.find(({ running }) => running);
    if (sentinel === undefined) throw new TestServerError("no sentinel is running");
    let refused: unknown;
    await eventually(
      async () => {
        try {
          await sentinel.command("SENTINEL", "FAILOVER", this.name);
          return true;
        } catch (error) {
          // NOGOODSLAVE until the Sentinel has reached the replicas, INPROG while another failover is under way.
          if (!(error instanceof RedisReplyError)) throw error;
          refused = error.message;
          return false;
        }
      },
      { what: "a failover to begin", withinMs, everyMs: 50, detail: () => String(refused) },
    );
    return this.untilMaster({ not, withinMs: Math.max(500, endMs - performance.now()) });
  }

  /**
   * Sends SIGKILL to the master and resolves with it when it is gone. A replica takes its place some time after
   * `downAfterMs`.
   */
  async killMaster(): Promise<RedisNode> {
    const master = await this.master();
    await master.kill();
    return master;
  }

  /**
   * Stops all traffic between a replica and the other servers as its masters. The replica grows stale; Sentinels and
   * clients still reach it. Needs `replicationProxies`.
   */
  cutReplication(replica: RedisNode): void {
    for (const gate of this.#allGates()) gate.cut(this.announcedPort(replica));
  }

  /** Ends `cutReplication`. What was held back is delivered. */
  healReplication(replica: RedisNode): void {
    for (const gate of this.#allGates()) gate.heal(this.announcedPort(replica));
  }

  /**
   * Stops all traffic between a server and everything that knows it by its announced port: Sentinels, the other
   * servers, and clients without another way to it. Such a way is an entry in their `natMap` that leads to its own
   * `port`. Needs `replicationProxies`.
   */
  async isolate(node: RedisNode): Promise<void> {
    await this.#gate(node).setMode("stall");
  }

  /** Ends `isolate`. What was held back is delivered. */
  async rejoin(node: RedisNode): Promise<void> {
    await this.#gate(node).setMode("ok");
  }

  /** Ends all servers and removes their data. */
  stop(): Promise<void> {
    return stopAll(this.nodes, this.sentinels, this.#gates, this.#proxies);
  }

  /** `stop()`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  #gate(node: RedisNode): ReplicationGate {
    const gate = this.#gates.get(node);
    if (gate === undefined) {
      throw new TestServerError("to isolate a server, start with replicationProxies: true");
    }
    return gate;
  }

  #allGates(): ReplicationGate[] {
    if (this.#gates.size === 0) {
      throw new TestServerError("to cut a replica off, start with replicationProxies: true");
    }
    return [...this.#gates.values()];
  }

  /** Asks once who is master. Returns the answers as text, too. */
  async #look(): Promise<{ master: RedisNode | undefined; told: string }> {
    const sentinels = this.sentinels.filter(({ running }) => running);
    const ports = await Promise.all(sentinels.map((sentinel) => sentinel.masterPort(this.name)));
    const named = this.nodes.find((node) => this.announcedPort(node) === ports[0]);
    const told = `sentinels name ports ${ports.join(", ")}`;
    if (named === undefined || !named.running || ports.some((port) => port !== ports[0])) {
      return { master: undefined, told };
    }
    const { role } = await named.role();
    return { master: role === "master" ? named : undefined, told: `${told}, which says it is ${role}` };
  }
}

/**
 * Starts a master, replicas that follow it and Sentinels that watch them, and resolves when all of them know it.
 *
 * @throws NotInstalledError when there is no server on this machine (`npx holdfast-servers ensure` gets one).
 * @throws TestServerError with the end of a server's log when it does not come up.
 */
export function startRedisReplicaSet(options: StartRedisReplicaSetOptions = {}): Promise<RedisReplicaSet> {
  return RedisReplicaSet.start(options);
}

async function stopAll(
  nodes: readonly RedisNode[],
  sentinels: readonly RedisSentinel[],
  gates: ReadonlyMap<RedisNode, ReplicationGate>,
  proxies: ClientProxies,
): Promise<void> {
  // Sentinels first, because they would act on the end of the servers.
  await Promise.all(sentinels.map((sentinel) => sentinel.stop()));
  await Promise.all(nodes.map((node) => node.stop()));
  await Promise.all([...[...gates.values()].map((gate) => gate.close()), proxies.close()]);
}
