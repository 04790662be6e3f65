import type { Runtime } from "@holdfast/core";
import { Channel } from "./channel.js";
import { ChannelConnection } from "./channel-connection.js";
import type { MasterNode } from "./master-node.js";
import type { Subscription } from "./redis-line.js";
import type { RequestMeter } from "./request-meter.js";
import type { LinkTimes } from "./settings.js";
import type { Topology } from "./topology.js";

export interface SubscriptionsOptions {
  readonly runtime: Runtime;
  readonly topology: () => Topology;
  readonly cluster: boolean;
  readonly times: LinkTimes;
  readonly meter?: RequestMeter | undefined;
  onRenewed(): void;
  warn(message: string): void;
}

/** All subscriptions of a provider: one connection for plain channels, and one for each master that has sharded channels. */
export class Subscriptions {
  readonly #options: SubscriptionsOptions;
  readonly #channels = new Map<string, Channel>();
  readonly #plain: ChannelConnection;
  readonly #sharded = new Map<MasterNode, ChannelConnection>();
  readonly #places = new Map<Channel, ChannelConnection>();
  #closedBy: Error | null = null;

  constructor(options: SubscriptionsOptions) {
    this.#options = options;
    this.#plain = this.#connection(null);
  }

  subscribe(name: string, sharded: () => boolean | null, listener: (message: string) => void): Subscription {
    // Wrap the listener, so that the same function given twice is called twice, and each subscription ends only its own.
    const own = (message: string): void => listener(message);
    let channel = this.#channels.get(name);
    if (channel === undefined) {
      channel = new Channel(name, sharded);
      this.#channels.set(name, channel);
    }
    channel.listeners.add(own);
    if (this.#closedBy !== null) channel.closed(this.#closedBy);
    else this.#place(channel);
    return new ListenerSubscription(channel, () => this.#end(channel, own));
  }

  /** Called when the slot map or the known servers have changed. */
  settle(): void {
    this.#plain.settle();
    for (const channel of this.#channels.values()) this.#place(channel);
    for (const [node, connection] of this.#sharded) {
      if (connection.size > 0) continue;
      this.#sharded.delete(node);
      void connection.close();
    }
  }

  /**
   * Subscribes the plain channels on a new connection. After a primary has become a replica, the old connection lives on and
   * still receives messages. But the scripts of the new primary count only the subscribers at that server.
   */
  redial(): void {
    this.#plain.redial();
  }

  async close(error: Error): Promise<void> {
    this.#closedBy = error;
    for (const channel of this.#channels.values()) channel.closed(error);
    this.#channels.clear();
    this.#places.clear();
    await Promise.all([this.#plain, ...this.#sharded.values()].map((each) => each.close()));
  }

  #end(channel: Channel, listener: (message: string) => void): void {
    channel.listeners.delete(listener);
    if (channel.listeners.size > 0 || this.#channels.get(channel.name) !== channel) return;
    this.#channels.delete(channel.name);
    this.#places.get(channel)?.remove(channel);
    this.#places.delete(channel);
  }

  #place(channel: Channel): void {
    const sharded = channel.sharded();
    if (sharded === null) return;
    const now = this.#places.get(channel);
    const right = sharded ? this.#shardOf(channel.name) : this.#plain;
    // While no master is known for its slot, a channel stays where it is.
    if (right === null || right === now) return;
    now?.remove(channel);
    this.#places.set(channel, right);
    right.add(channel);
  }

  #shardOf(name: string): ChannelConnection | null {
    const topology = this.#options.topology();
    const node = topology.nodeOf(topology.slotOf(name));
    if (node === null) return null;
    let connection = this.#sharded.get(node);
    if (connection === undefined) {
      connection = this.#connection(node);
      this.#sharded.set(node, connection);
    }
    return connection;
  }

  #connection(node: MasterNode | null): ChannelConnection {
    const { runtime, topology, cluster, times, meter, onRenewed, warn } = this.#options;
    return new ChannelConnection({
      runtime,
      times,
      meter,
      sharded: node !== null,
      base: () => (node === null ? topology().subscriptionBase() : node.commands.redis),
      movable: cluster && node === null,
      // When a master goes, its slots move to other masters, and each sharded channel follows its slot.
      hears: (redis) => node !== null || topology().hears(redis),
      onRenewed,
      onMoved: () => topology().outdated(),
      warn,
    });
  }
}

class ListenerSubscription implements Subscription {
  readonly #channel: Channel;
  readonly #end: () => void;

  constructor(channel: Channel, end: () => void) {
    this.#channel = channel;
    this.#end = end;
  }

  get live(): boolean {
    return this.#channel.live;
  }

  get ready(): Promise<void> {
    return this.#channel.ready;
  }

  end(): void {
    this.#end();
  }
}
