import type { Millis } from "@holdfast/core";
import { addressText } from "@holdfast/core/internal";
import { Cluster, type Redis } from "ioredis";
import { slotOfKey } from "../layout/hash-slot.js";
import type { Command } from "./commands.js";
import { dialAll } from "./dial.js";
import { isRefusal } from "./errors.js";
import { copyOf } from "./heard-streams.js";
import { MasterNode, type MasterNodeOptions } from "./master-node.js";
import { clusterOptions, duplicateSettings } from "./settings.js";
import { clusterState } from "./suitable.js";
import { type RedisAddress, type RedisTarget, serversOf } from "./target.js";
import { closeClient, type Topology, type TopologyEvents } from "./topology.js";

const clusterProbes: readonly Command[] = [["pubsub", "shardnumsub"], clusterState];
const mendMs = 250;
const mendCapMs = 1_000;
/**
 * A master without slots is dropped when no ASK has named it for this long. A lease of up to three minutes is renewed more often
 * than that. For a longer one the connection is opened again at the next ASK.
 */
const apartMs = 60_000;

/**
 * The masters of a cluster. ioredis keeps the slot map and the connections to the nodes. Commands are sent on each node's own
 * connection and never through the cluster client, because that client would resend a command whose answer was lost.
 */
export class ClusterTopology implements Topology {
  readonly #cluster: Cluster;
  readonly #own: boolean;
  readonly #seeds: readonly string[];
  /** Empty for a given client, whose seeds may have any form. */
  readonly #addresses: readonly RedisAddress[];
  readonly #options: Pick<MasterNodeOptions, "runtime" | "policy" | "times" | "holding" | "meter">;
  readonly #events: TopologyEvents;
  readonly #nodes = new Map<Redis, MasterNode>();
  /**
   * Masters that the slot map does not list yet, by address, because their first slot is still being moved to them. `askedMs`:
   * when an ASK last named the master.
   */
  readonly #apart = new Map<string, { readonly node: MasterNode; askedMs: Millis }>();
  readonly #tried = new WeakSet<MasterNode>();
  readonly #knownRunIds = new Set<string>();
  /** The close of each client that was opened here, while it is under way. */
  readonly #closing = new Set<Promise<void>>();
  #settled = false;
  #shape = "";
  #lastCause: unknown;
  #refused = false;
  #dialling = false;
  #closed = false;
  #mends = 0;
  #cancelMend: (() => void) | undefined;

  constructor(
    target: RedisTarget & { readonly kind: "cluster" | "given-cluster" },
    options: Pick<MasterNodeOptions, "runtime" | "policy" | "times" | "holding" | "meter">,
    events: TopologyEvents,
  ) {
    this.#options = options;
    this.#events = events;
    this.#seeds = serversOf(target);
    this.#own = target.kind === "cluster";
    this.#addresses = target.kind === "cluster" ? target.nodes : [];
    this.#cluster =
      target.kind === "cluster"
        ? new Cluster(
            target.nodes.map((each) => ({ ...each })),
            clusterOptions(target, options.times),
          )
        : target.client;
    const cluster = this.#cluster;
    cluster.on("refresh", this.#refreshed);
    cluster.on("ready", this.#refreshed);
    cluster.on("-node", this.#left);
    cluster.on("error", this.#failed);
    cluster.on("node error", this.#failed);
    if (cluster.status === "wait") cluster.connect().catch(this.#failed);
    else if (cluster.status === "ready") queueMicrotask(this.#refreshed);
  }

  get servers(): readonly string[] {
    const masters = [...this.#nodes.keys()].map(addressOf);
    return masters.length > 0 ? masters : this.#seeds;
  }

  get connected(): boolean {
    return this.#settled && [...this.#nodes.values()].some((node) => node.trusted);
  }

  get lastCause(): unknown {
    return this.#lastCause;
  }

  get refused(): boolean {
    return this.#refused;
  }

  slotOf(key: string): number {
    return slotOfKey(key);
  }

  nodeOf(slot: number | null): MasterNode | null {
    const key = slot === null ? undefined : this.#cluster.slots[slot]?.[0];
    return key === undefined ? null : this.#nodeAt(key);
  }

  /** ioredis keys its nodes by the addresses of `natMap`, while servers name each other by their own addresses. */
  redirect(address: RedisAddress, kind: "moved" | "ask"): MasterNode | null {
    const named = `${address.host}:${address.port}`;
    const { natMap } = this.#cluster.options;
    try {
      const to = (typeof natMap === "function" ? natMap(named) : natMap?.[named]) ?? address;
      return this.#nodeAt(`${to.host}:${to.port}`) ?? (kind === "ask" ? this.#nodeApart(to) : null);
    } catch (error) {
      // `natMap` of a given client may be a function of the user, which may throw.
      this.#lastCause = error;
      return null;
    }
  }

  outdated(): void {
    if (!this.#closed) this.#cluster.refreshSlotsCache();
  }

  subscriptionBase(): Redis | null {
    const trusted = [...this.#nodes.values()].filter((node) => node.trusted);
    const { runtime } = this.#options;
    return trusted[Math.floor(runtime.random() * trusted.length)]?.commands.redis ?? null;
  }

  /** Decided by the slot map: the nodes in it publish to each other. While there is no map, the answer is `true`. */
  hears(redis: Redis): boolean {
    const nodes = this.#cluster.nodes("all");
    return nodes.length === 0 || nodes.some((each) => keyOf(each) === keyOf(redis));
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelMend?.();
    const cluster = this.#cluster;
    cluster.off("refresh", this.#refreshed);
    cluster.off("ready", this.#refreshed);
    cluster.off("-node", this.#left);
    cluster.off("node error", this.#failed);
    if (!this.#own) cluster.off("error", this.#failed);
    for (const redis of [...this.#nodes.keys()]) this.#forget(redis);
    for (const key of [...this.#apart.keys()]) this.#forgetApart(key);
    if (this.#own) this.#closes(closeCluster(cluster));
    await Promise.all(this.#closing);
  }

  /** The slot map was read: add the new masters, and drop the nodes that are no longer masters. */
  readonly #refreshed = (): void => {
    if (this.#closed) return;
    this.#refused = false;
    const masters = new Set(this.#cluster.nodes("master"));
    for (const redis of [...this.#nodes.keys()]) if (!masters.has(redis)) this.#forget(redis);
    for (const redis of masters) if (!this.#nodes.has(redis)) this.#takeUp(redis);
    const idleMs = this.#options.runtime.nowMs() - apartMs;
    for (const [key, { askedMs }] of [...this.#apart])
      if (this.#nodeAt(key) !== null || askedMs < idleMs) this.#forgetApart(key);
    const shape = this.#shapeOfSlots();
    const moved = this.#shape !== "" && shape !== this.#shape;
    this.#shape = shape;
    if (moved) this.#events.notice("master");
    this.#events.changed();
  };

  readonly #left = (redis: Redis): void => {
    this.#forget(redis);
    this.#events.changed();
    this.#mend();
  };

  readonly #failed = (error: unknown): void => {
    // An error with `lastNodeError` means that every known node was asked. Any other error concerns one node.
    const last = (error as { lastNodeError?: unknown } | null)?.lastNodeError;
    this.#lastCause = last ?? error;
    if (last !== undefined) {
      this.#refused = isRefusal(last);
      if (!this.#refused) void this.#dialSeeds();
    }
    this.#events.changed();
  };

  async #dialSeeds(): Promise<void> {
    if (this.#dialling || this.#closed) return;
    this.#dialling = true;
    const found = await dialAll(this.#addresses, this.#options.times.dialTimeoutMs);
    this.#dialling = false;
    if (this.#closed || this.connected || found === null) return;
    this.#lastCause = found.cause;
    this.#refused = found.refused;
    this.#events.changed();
  }

  #takeUp(redis: Redis): void {
    const address = addressOf(redis);
    const node = new MasterNode(redis, {
      ...this.#options,
      servers: () => [address],
      redial: false,
      interruptible: false,
      own: this.#own,
      probes: clusterProbes,
      cluster: true,
      onTrusted: (which, info, probed) => {
        const known = this.#knownRunIds.has(info.runId);
        this.#knownRunIds.add(info.runId);
        const first = !this.#settled;
        this.#try(which);
        this.#events.trusted(which, info, probed);
        if (!first) this.#events.notice(known ? "commands" : "master");
        this.#events.changed();
      },
      onBroken: () => {
        this.#events.broken();
        this.#events.changed();
        this.#mend();
      },
      onFailed: (which) => {
        this.#lastCause = which.commands.lastCause ?? this.#lastCause;
        this.#try(which);
        this.#events.changed();
        this.#mend();
      },
    });
    this.#nodes.set(redis, node);
  }

  /**
   * Opens a connection of our own to a master that serves no slot yet, for the keys that have already been moved there. ioredis
   * has no connection to such a master, and closes one that is made for it. Ours is closed once the slot map lists the master.
   */
  #nodeApart({ host, port }: RedisAddress): MasterNode | null {
    const key = `${host}:${port}`;
    const { runtime, times } = this.#options;
    const known = this.#apart.get(key);
    if (known !== undefined) {
      known.askedMs = runtime.nowMs();
      return known.node;
    }
    const base = this.subscriptionBase();
    if (base === null || this.#closed) return null;
    const redis = copyOf(base, { ...duplicateSettings(times), host, port });
    const changed = (): void => this.#events.changed();
    const node = new MasterNode(redis, {
      ...this.#options,
      servers: () => [addressOf(redis)],
      redial: false,
      interruptible: true,
      own: true,
      probes: clusterProbes,
      cluster: true,
      onTrusted: (which, info, probed) => {
        this.#events.trusted(which, info, probed);
        changed();
      },
      onBroken: changed,
      onFailed: changed,
    });
    this.#apart.set(key, { node, askedMs: runtime.nowMs() });
    return node;
  }

  #forgetApart(key: string): void {
    const node = this.#apart.get(key)?.node;
    if (node === undefined) return;
    this.#apart.delete(key);
    for (const each of [node.commands.redis, ...node.close()]) this.#closes(closeClient(each));
  }

  /** The first connection counts as complete once each master was tried. From then on a missing master is an outage. */
  #try(node: MasterNode): void {
    this.#tried.add(node);
    this.#settled ||= [...this.#nodes.values()].every((each) => this.#tried.has(each));
  }

  #forget(redis: Redis): void {
    const node = this.#nodes.get(redis);
    if (node === undefined) return;
    this.#nodes.delete(redis);
    for (const each of node.close()) this.#closes(closeClient(each));
  }

  #closes(closing: Promise<void>): void {
    this.#closing.add(closing);
    void closing.then(() => this.#closing.delete(closing));
  }

  /**
   * After the loss of a node ioredis does not connect to it again until it reads the slot map. So the map is read again, at
   * growing intervals, until every master is trusted.
   */
  #mend(): void {
    if (this.#closed || this.#cancelMend !== undefined) return;
    const delayMs = Math.min(mendMs * 2 ** this.#mends, mendCapMs);
    this.#cancelMend = this.#options.runtime.setTimer(delayMs, () => {
      this.#cancelMend = undefined;
      if (this.#closed) return;
      const whole = this.#nodes.size > 0 && [...this.#nodes.values()].every((node) => node.trusted);
      this.#mends = whole ? 0 : this.#mends + 1;
      this.outdated();
      if (!whole) this.#mend();
    });
  }

  #nodeAt(key: string): MasterNode | null {
    for (const [redis, node] of this.#nodes) if (keyOf(redis) === key) return node;
    return null;
  }

  /** A text that changes whenever a slot moves to another master. */
  #shapeOfSlots(): string {
    const parts: string[] = [];
    let last: string | undefined;
    for (let slot = 0; slot < 16_384; slot++) {
      const key = this.#cluster.slots[slot]?.[0];
      if (key !== last) parts.push(`${slot}=${key}`);
      last = key;
    }
    return parts.join(",");
  }
}

function keyOf({ options }: Redis): string {
  return `${options.host}:${options.port}`;
}

function addressOf({ options }: Redis): string {
  return addressText({ host: options.host ?? "localhost", port: options.port ?? 6379 });
}

async function closeCluster(cluster: Cluster): Promise<void> {
  cluster.on("error", () => {});
  const nodes = cluster.nodes("all").map(closeClient);
  // A cluster without nodes emits no end event that could be awaited. The connections of a refresh under way end by themselves.
  cluster.disconnect();
  await Promise.all(nodes);
}
