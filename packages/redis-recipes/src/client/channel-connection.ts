import type { Millis, Runtime } from "@holdfast/core";
import { messageOf } from "@holdfast/core/internal";
import type { Redis } from "ioredis";
import type { Channel } from "./channel.js";
import { refusalKind } from "./errors.js";
import { copyOf } from "./heard-streams.js";
import { type RequestMeter, tellSettled } from "./request-meter.js";
import { channelPingMs, duplicateSettings, type LinkTimes } from "./settings.js";
import { closeClient } from "./topology.js";

export interface ChannelConnectionOptions {
  readonly runtime: Runtime;
  readonly times: LinkTimes;
  readonly sharded: boolean;
  readonly meter?: RequestMeter | undefined;
  /** A client from which the connection is copied; `null` while there is none. */
  base(): Redis | null;
  /**
   * The connection may lead to any of several servers: after `vainAttempts` failed attempts in a row another server is chosen.
   */
  readonly movable: boolean;
  /**
   * `false` once this client's server is no longer part of the cluster: messages that the other nodes publish do not reach it.
   */
  hears(redis: Redis): boolean;
  /** Called after a loss, once every channel that the server grants is subscribed again. */
  onRenewed(): void;
  /** Called when the server no longer serves the slot of a channel. */
  onMoved(): void;
  warn(message: string): void;
}

const againMs: Millis = 200;
const deniedAgainMs: Millis = 5_000;
const vainAttempts = 3;

/**
 * A connection that carries subscriptions and nothing else. After each reconnect it subscribes its channels itself, not through
 * ioredis, so that it knows that each one is subscribed before it calls `onRenewed`.
 */
export class ChannelConnection {
  readonly #options: ChannelConnectionOptions;
  readonly #channels = new Map<string, Channel>();
  #redis: Redis | null = null;
  #closing: Promise<void>[] = [];
  #closed = false;
  #epoch = 0;
  #vain = 0;
  /** A channel was subscribed again after a loss. `onRenewed` is called once every other channel is subscribed or refused. */
  #again = false;
  #deniedTold = false;
  /** For each channel that was refused: when it is subscribed again. */
  readonly #dueMs = new Map<Channel, Millis>();
  /** When the timer rings. It may ring too early: its channel may have been removed meanwhile. */
  #nextDueMs: Millis = Infinity;
  #cancelPing: (() => void) | undefined;
  #cancelOpen: (() => void) | undefined;
  #cancelDue: (() => void) | undefined;

  constructor(options: ChannelConnectionOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#channels.size;
  }

  add(channel: Channel): void {
    this.#channels.set(channel.name, channel);
    if (this.#redis === null) this.#open();
    else if (this.#redis.status === "ready") void this.#subscribe([channel]);
  }

  remove(channel: Channel): void {
    if (!this.#channels.delete(channel.name)) return;
    this.#dueMs.delete(channel);
    channel.lost();
    const redis = this.#redis;
    if (redis?.status !== "ready") return;
    // The outcome does not matter: messages of a channel without an entry in `#channels` are dropped.
    this.#metered(
      this.#options.sharded ? "sunsubscribe" : "unsubscribe",
      this.#options.sharded ? redis.sunsubscribe(channel.name) : redis.unsubscribe(channel.name),
    ).catch(() => {});
    this.#tellRenewed();
  }

  /**
   * Called when the known servers have changed. If the server of this connection has left the cluster, its channels are
   * subscribed at another server.
   */
  settle(): void {
    if (this.#redis === null || this.#options.hears(this.#redis)) return;
    this.#drop();
    this.#open();
  }

  /** Ends the connection. ioredis connects again, and all channels are subscribed on the new connection. */
  redial(): void {
    this.#redis?.disconnect(true);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#drop();
    await Promise.all(this.#closing);
  }

  #open(): void {
    if (this.#closed || this.#redis !== null) return;
    const base = this.#options.base();
    if (base === null) {
      this.#openLater();
      return;
    }
    const { times } = this.#options;
    const redis = copyOf(base, { ...duplicateSettings(times), commandTimeout: times.commandTimeoutMs });
    this.#redis = redis;
    this.#vain = 0;
    redis.on("error", () => {});
    redis.on("ready", () => this.#ready(redis));
    redis.on("close", () => this.#gone(redis));
    redis.on("end", () => this.#over(redis));
    redis.on("moved", () => this.#moved(redis));
    redis.on(this.#options.sharded ? "smessage" : "message", (name: string, message: string) => {
      if (redis === this.#redis) this.#channels.get(name)?.hear(message);
    });
    redis.connect().catch(() => {});
  }

  #ready(redis: Redis): void {
    if (redis !== this.#redis) return;
    this.#vain = 0;
    this.#armPing(redis);
    void this.#subscribe([...this.#channels.values()]);
  }

  #gone(redis: Redis): void {
    if (redis !== this.#redis) return;
    this.#allLost();
    this.#cancelPing?.();
    if (!this.#options.movable || ++this.#vain < vainAttempts) return;
    this.#drop();
    this.#openLater();
  }

  /** ioredis ended the client although `#drop()` was not called. Another client is made after a pause. */
  #over(redis: Redis): void {
    if (redis !== this.#redis) return;
    this.#drop();
    this.#openLater();
  }

  /** A slot has moved to another node. This server has ended the subscriptions of that slot, or is about to report it. */
  #moved(redis: Redis): void {
    if (redis !== this.#redis) return;
    this.#allLost();
    this.#options.onMoved();
    for (const channel of this.#channels.values()) this.#subscribeLater(channel, againMs);
  }

  #allLost(): void {
    this.#epoch++;
    for (const channel of this.#channels.values()) channel.lost();
  }

  async #subscribe(channels: readonly Channel[]): Promise<void> {
    const redis = this.#redis;
    if (redis === null || channels.length === 0) return;
    const epoch = this.#epoch;
    // Send one command for each channel, all in one write, so that a refused channel does not make the others fail.
    redis.stream.cork();
    const attempts = channels.map(({ name }) =>
      this.#options.sharded
        ? this.#metered("ssubscribe", redis.ssubscribe(name))
        : this.#metered("subscribe", redis.subscribe(name)),
    );
    redis.stream.uncork();
    const settled = await Promise.allSettled(attempts);
    if (epoch !== this.#epoch || redis !== this.#redis) return;
    channels.forEach((channel, index) => {
      const result = settled[index];
      if (result?.status === "rejected") this.#refused(channel, result.reason);
      else if (this.#channels.get(channel.name) === channel && channel.subscribed()) this.#again = true;
    });
    this.#tellRenewed();
  }

  /** A refused channel is retried until it is granted. The other channels do not wait for it. */
  #tellRenewed(): void {
    const settled = (channel: Channel): boolean => channel.live || this.#dueMs.has(channel);
    if (!this.#again || ![...this.#channels.values()].every(settled)) return;
    this.#again = false;
    this.#options.onRenewed();
  }

  /** Returns `answer`, and reports its end to the meter. */
  #metered<T>(op: string, answer: Promise<T>): Promise<T> {
    const { meter, runtime } = this.#options;
    if (meter?.wanted !== true) return answer;
    const sentMs = runtime.nowMs();
    answer.then(
      () => tellSettled(meter, op, runtime.nowMs() - sentMs, null),
      (error: unknown) => tellSettled(meter, op, runtime.nowMs() - sentMs, error),
    );
    return answer;
  }

  #refused(channel: Channel, reason: unknown): void {
    const told = messageOf(reason);
    const kind = refusalKind(told);
    if (kind === "moved") this.#options.onMoved();
    if (kind === "denied" && !this.#deniedTold) {
      this.#deniedTold = true;
      this.#options.warn(`cannot subscribe, so waiters get no message and have to poll: ${told}`);
    }
    this.#subscribeLater(channel, kind === "denied" ? deniedAgainMs : againMs);
  }

  #subscribeLater(channel: Channel, delayMs: Millis): void {
    if (this.#closed || this.#channels.get(channel.name) !== channel) return;
    const dueMs = this.#options.runtime.nowMs() + delayMs;
    this.#dueMs.set(channel, dueMs);
    this.#armDue(dueMs);
  }

  #armDue(dueMs: Millis): void {
    if (dueMs >= this.#nextDueMs) return;
    const { runtime } = this.#options;
    this.#nextDueMs = dueMs;
    this.#cancelDue?.();
    this.#cancelDue = runtime.setTimer(Math.max(0, Math.ceil(dueMs - runtime.nowMs())), this.#due);
  }

  readonly #due = (): void => {
    const nowMs = this.#options.runtime.nowMs();
    const due: Channel[] = [];
    let nextMs: Millis = Infinity;
    for (const [channel, dueMs] of this.#dueMs) {
      if (dueMs > nowMs) {
        nextMs = Math.min(nextMs, dueMs);
        continue;
      }
      this.#dueMs.delete(channel);
      if (!channel.live) due.push(channel);
    }
    this.#nextDueMs = Infinity;
    this.#armDue(nextMs);
    // If there is no connection now, all channels are subscribed once it is ready.
    if (this.#redis?.status === "ready") void this.#subscribe(due);
  };

  #openLater(): void {
    if (this.#closed) return;
    this.#cancelOpen?.();
    this.#cancelOpen = this.#options.runtime.setTimer(againMs, () => this.#open());
  }

  #armPing(redis: Redis): void {
    this.#cancelPing?.();
    this.#cancelPing = this.#options.runtime.setTimer(channelPingMs, () => {
      if (redis !== this.#redis || redis.status !== "ready") return;
      // A missing answer is noticed by the time-out of the socket.
      redis.ping().catch(() => {});
      this.#armPing(redis);
    });
  }

  #drop(): void {
    this.#cancelPing?.();
    this.#cancelOpen?.();
    this.#cancelDue?.();
    this.#nextDueMs = Infinity;
    this.#dueMs.clear();
    this.#allLost();
    const redis = this.#redis;
    this.#redis = null;
    if (redis !== null) this.#closing.push(closeClient(redis));
    if (!this.#closed) this.#closing = this.#closing.slice(-vainAttempts);
  }
}
