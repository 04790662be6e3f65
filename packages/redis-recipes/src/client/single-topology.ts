import { Redis } from "ioredis";
import { dialAll } from "./dial.js";
import { endsOnReplicas } from "./given-client.js";
import { MasterNode, type MasterNodeOptions } from "./master-node.js";
import { clientOptions, type LinkTimes } from "./settings.js";
import { type RedisAddress, type RedisTarget, serversOf } from "./target.js";
import { closeClient, type Topology, type TopologyEvents } from "./topology.js";

/** One master at a time: a single server, or the master that sentinels name. */
export class SingleTopology implements Topology {
  readonly servers: readonly string[];
  readonly #node: MasterNode;
  readonly #own: Redis | null;
  readonly #sentinels: boolean;
  #lastRunId: string | null = null;
  /** The connection for commands has led to a replica, so the one for messages may lead there too. */
  #replicaMet = false;
  #dialling = false;
  #closed = false;
  /** Why no sentinel can be asked. */
  #unreachable: { readonly cause: Error; readonly refused: boolean } | null = null;

  constructor(
    target: RedisTarget & { readonly kind: "single" | "sentinel" | "given-redis" },
    options: Pick<MasterNodeOptions, "runtime" | "policy" | "times" | "holding" | "meter">,
    events: TopologyEvents,
  ) {
    this.servers = serversOf(target);
    this.#own = target.kind === "given-redis" ? null : new Redis(clientOptions(target, options.times));
    const client = this.#own ?? (target as { readonly client: Redis }).client;
    this.#sentinels = Array.isArray(client.options.sentinels);
    this.#node = new MasterNode(client, {
      ...options,
      servers: () => this.servers,
      // A given client also carries its owner's commands. We may end its connection only if its owner has allowed that.
      redial: this.#own !== null || endsOnReplicas(client),
      interruptible: this.#own !== null,
      own: this.#own !== null,
      probes: [],
      cluster: false,
      onTrusted: (node, info, probed) => {
        const before = this.#lastRunId;
        this.#lastRunId = info.runId;
        this.#unreachable = null;
        if (this.#replicaMet) events.relocated();
        this.#replicaMet = false;
        events.trusted(node, info, probed);
        if (before !== null) events.notice(before === info.runId ? "commands" : "master");
        events.changed();
      },
      onReplica: () => {
        this.#replicaMet = true;
      },
      onBroken: () => events.changed(),
      onFailed: () => {
        events.changed();
        if (target.kind === "sentinel") void this.#dialSentinels(target.sentinels, options.times, events);
      },
    });
  }

  get connected(): boolean {
    return this.#node.trusted;
  }

  get lastCause(): unknown {
    return this.#unreachable?.cause ?? this.#node.commands.lastCause;
  }

  get refused(): boolean {
    if (this.#unreachable !== null) return this.#unreachable.refused;
    const { refused, lastCause } = this.#node.commands;
    // A failover begins with a master that refuses: the sentinels will name another one.
    return refused && !(this.#sentinels && refusedByMaster(lastCause));
  }

  slotOf(): null {
    return null;
  }

  nodeOf(): MasterNode {
    return this.#node;
  }

  redirect(): null {
    return null;
  }

  outdated(): void {}

  subscriptionBase(): Redis {
    return this.#node.commands.redis;
  }

  hears(): boolean {
    return true;
  }

  async #dialSentinels(
    sentinels: readonly RedisAddress[],
    times: LinkTimes,
    events: TopologyEvents,
  ): Promise<void> {
    const inVain = String(this.#node.commands.lastCause).includes("All sentinels are unreachable");
    if (!inVain) this.#unreachable = null;
    if (!inVain || this.#dialling || this.#closed) return;
    this.#dialling = true;
    const found = await dialAll(sentinels, times.dialTimeoutMs);
    this.#dialling = false;
    if (this.connected || this.#closed) return;
    this.#unreachable = found;
    events.changed();
  }

  async close(): Promise<void> {
    this.#closed = true;
    const opened = this.#node.close();
    await Promise.all([...opened, ...(this.#own === null ? [] : [this.#own])].map(closeClient));
  }
}

/**
 * Whether the master refused the connection. For a master, ioredis passes on the error of the system unchanged; for sentinels it
 * makes an error text of its own.
 */
function refusedByMaster(cause: unknown): boolean {
  return (cause as { readonly syscall?: unknown } | null)?.syscall === "connect";
}
