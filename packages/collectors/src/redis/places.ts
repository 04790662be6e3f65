import type { Runtime } from "@holdfast/core";
import { addressText } from "@holdfast/core/internal";
import {
  clientOptions,
  clusterOptions,
  commandSettings,
  copyOf,
  defaultTimes,
  heardStreams,
  type RedisAddress,
  type RedisTarget,
  slotOfKey,
} from "@holdfast/redis-recipes/internal";
import { Cluster, Redis, type RedisOptions } from "ioredis";
import { infoFields, Link } from "./link.js";

/** The servers of a target, with connections of the collector's own. */
export interface Places {
  readonly clustered: boolean;
  /** The servers that hold the keys: one, or one for each share of a cluster. */
  masters(): readonly Link[];
  /** Masters and replicas: a client that listens may be connected to either. */
  nodes(): readonly Link[];
  readonly sentinels: readonly Link[];
  readonly masterName: string | null;
  /** `null` while no master is known to serve the key. */
  masterOf(key: string): Link | null;
  /** An answer said that another server serves the key. */
  outdated(): void;
  /** Takes over what a master has reported of its replicas. */
  heardReplication(info: ReadonlyMap<string, string>): void;
  close(): Promise<void>;
}

type Settings = Omit<RedisOptions, "replyMapping">;

/**
 * Sockets may be silent for 2,000 ms longer than usual: thousands of commands go in one write, and `Link` has a limit for
 * the whole.
 */
function lookingSettings(): Settings {
  return { ...commandSettings(defaultTimes, 2_000), protocol: 2 } as Settings;
}

export function openPlaces(target: RedisTarget, runtime: Runtime): Places {
  if (target.kind === "cluster" || target.kind === "given-cluster") return new ClusterPlaces(target, runtime);
  return new SinglePlaces(target, runtime);
}

class SinglePlaces implements Places {
  readonly clustered = false;
  readonly sentinels: readonly Link[];
  readonly masterName: string | null;
  readonly #target: RedisTarget & { readonly kind: "single" | "sentinel" | "given-redis" };
  readonly #runtime: Runtime;
  readonly #master: Link;
  readonly #replicas = new Map<string, Link>();

  constructor(
    target: RedisTarget & { readonly kind: "single" | "sentinel" | "given-redis" },
    runtime: Runtime,
  ) {
    this.#target = target;
    this.#runtime = runtime;
    const redis =
      target.kind === "given-redis"
        ? copyOf(target.client, { ...lookingSettings(), commandTimeout: undefined } as Settings)
        : new Redis({ ...clientOptions(target), ...lookingSettings() } as Settings);
    this.#master = new Link(redis, runtime);
    this.masterName = target.kind === "sentinel" ? target.masterName : null;
    this.sentinels =
      target.kind !== "sentinel"
        ? []
        : target.sentinels.map((address) => {
            const { username, password, tls } = target.sentinelAccess;
            return this.#dial(address, { username, password, tls, db: 0 });
          });
  }

  masters(): readonly Link[] {
    return [this.#master];
  }

  nodes(): readonly Link[] {
    return [this.#master, ...this.#replicas.values()];
  }

  masterOf(): Link {
    return this.#master;
  }

  /**
   * Where sentinels name the master, the connection to a server that is no master any more is made again, after the
   * sentinels were asked.
   */
  outdated(): void {
    if (this.#target.kind === "sentinel") this.#master.redis.disconnect(true);
  }

  /**
   * Connects to replicas only where there are sentinels, because clients of Redisson may listen on replicas there. It is not
   * known whether replicas of a lone server can be reached.
   */
  heardReplication(info: ReadonlyMap<string, string>): void {
    if (this.#target.kind !== "sentinel" || info.get("role") !== "master") return;
    const { natMap, access } = this.#target;
    const seen = new Set<string>();
    for (const [field, value] of info) {
      const [, host, port] = /^slave\d+$/.test(field) ? (/ip=([^,]+),port=(\d+)/.exec(value) ?? []) : [];
      if (host === undefined || port === undefined) continue;
      const named = `${host}:${port}`;
      seen.add(named);
      if (this.#replicas.has(named)) continue;
      this.#replicas.set(named, this.#dial(natMap?.[named] ?? { host, port: Number(port) }, access));
    }
    for (const [named, link] of this.#replicas) {
      if (seen.has(named)) continue;
      this.#replicas.delete(named);
      void link.close();
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.nodes(), ...this.sentinels].map((link) => link.close()));
  }

  #dial(address: RedisAddress, access: Settings | object): Link {
    const given = Object.fromEntries(Object.entries(access).filter(([, value]) => value !== undefined));
    const redis = new Redis({ ...lookingSettings(), ...given, ...address } as Settings);
    return new Link(redis, this.#runtime, addressText(address));
  }
}

class ClusterPlaces implements Places {
  readonly clustered = true;
  readonly sentinels: readonly Link[] = [];
  readonly masterName = null;
  readonly #cluster: Cluster;
  readonly #runtime: Runtime;
  readonly #links = new Map<Redis, Link>();

  constructor(target: RedisTarget & { readonly kind: "cluster" | "given-cluster" }, runtime: Runtime) {
    this.#runtime = runtime;
    const redisOptions = lookingSettings();
    const { lazyConnect: _lazy, retryStrategy: _retry, enableOfflineQueue: _queue, ...node } = redisOptions;
    if (target.kind === "cluster") {
      const options = clusterOptions(target);
      this.#cluster = new Cluster(
        target.nodes.map((each) => ({ ...each })),
        { ...options, redisOptions: { ...options.redisOptions, ...node } } as object,
      );
    } else {
      this.#cluster = target.client.duplicate([], {
        scaleReads: "master",
        lazyConnect: true,
        redisOptions: {
          ...node,
          commandTimeout: undefined,
          Connector: heardStreams(target.client.options.redisOptions?.Connector),
        } as object,
      });
    }
    this.#cluster.on("error", () => {});
    this.#cluster.on("node error", () => {});
    this.#cluster.on("-node", (redis: Redis) => {
      this.#links.delete(redis);
      this.outdated();
    });
    // ioredis goes on trying, and each reading reports the nodes that it cannot reach.
    if (this.#cluster.status === "wait") this.#cluster.connect().catch(() => {});
  }

  masters(): readonly Link[] {
    return this.#cluster.nodes("master").map((redis) => this.#link(redis));
  }

  nodes(): readonly Link[] {
    return this.#cluster.nodes("all").map((redis) => this.#link(redis));
  }

  masterOf(key: string): Link | null {
    const named = this.#cluster.slots[slotOfKey(key)]?.[0];
    if (named === undefined) return null;
    const redis = this.#cluster
      .nodes("master")
      .find(({ options }) => `${options.host}:${options.port}` === named);
    return redis === undefined ? null : this.#link(redis);
  }

  outdated(): void {
    if (this.#cluster.status === "ready") this.#cluster.refreshSlotsCache();
  }

  heardReplication(): void {}

  async close(): Promise<void> {
    const links = [...this.nodes()];
    this.#cluster.disconnect();
    await Promise.all(links.map((link) => link.close()));
  }

  #link(redis: Redis): Link {
    let link = this.#links.get(redis);
    if (link === undefined) {
      const { host = "localhost", port = 6379 } = redis.options;
      link = new Link(redis, this.#runtime, addressText({ host, port }));
      this.#links.set(redis, link);
    }
    return link;
  }
}

/** What a server reports of its role. */
export async function replicationOf(link: Link): Promise<ReadonlyMap<string, string>> {
  return infoFields(await link.ask("info", "replication"));
}
