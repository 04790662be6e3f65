import type { Millis, Runtime } from "@holdfast/core";
import type { RedisLine, Subscription } from "../../client/redis-line.js";
import type { WakeRule } from "../kinds/kind.js";
import { every } from "./every.js";

/**
 * How long a waiter whose message was lost sleeps before it looks again: up to a second, spread so that clients do not look in
 * step.
 */
export function cappedSleepMs(runtime: Runtime): Millis {
  return 1_000 * (0.75 + 0.25 * runtime.random());
}

export interface ChannelWaiter {
  /** How many of the permits in a message this waiter would use. */
  readonly size: number;
  /** Called as soon as messages arrive, and perhaps again after a loss of the subscription. */
  readonly ready: () => void;
  wake(): void;
}

/**
 * The requests of one provider that wait for messages, by channel. Each channel has one subscription, however many requests wait.
 * A message is only a hint, so a request that is woken asks again. When messages may have been missed (a reconnect of either
 * connection, another master), all requests are woken.
 */
export class ChannelWaiters {
  readonly #line: RedisLine;
  readonly #runtime: Runtime;
  readonly #channels = new Map<string, Channel>();
  readonly #stop: () => void;

  constructor(line: RedisLine, runtime: Runtime) {
    this.#line = line;
    this.#runtime = runtime;
    this.#stop = line.onRenewed(() => {
      for (const channel of [...this.#channels.values()]) channel.wakeAll();
    });
  }

  /** Adds a waiter. Returns a function that removes it. */
  enter(name: string, kind: "plain" | "redisson", rule: WakeRule, waiter: ChannelWaiter): () => void {
    const channel = this.#channels.get(name) ?? new Channel(this.#line, name, kind, rule);
    this.#channels.set(name, channel);
    channel.waiters.add(waiter);
    channel.tellReady(waiter);
    return () => this.#leave(name, channel, waiter);
  }

  /**
   * Calls `changed` at each message, once messages arrive, after each reconnect, and about once a second, since messages may be
   * lost and an expiring lease sends none. Never calls it before `watch` has returned. Returns a function that ends it.
   */
  watch(name: string, kind: "plain" | "redisson", changed: () => void): () => void {
    let watching = true;
    const waiter = { size: 1, ready: () => watching && changed(), wake: changed };
    const leave = this.enter(name, kind, "all", waiter);
    const stopTimer = every(this.#runtime, () => Math.ceil(cappedSleepMs(this.#runtime)), changed);
    return () => {
      watching = false;
      stopTimer();
      leave();
    };
  }

  /** How many requests wait for messages of a channel. */
  waitingOn(name: string): number {
    return this.#channels.get(name)?.waiters.size ?? 0;
  }

  close(): void {
    this.#stop();
    for (const channel of this.#channels.values()) channel.subscription.end();
    this.#channels.clear();
  }

  #leave(name: string, channel: Channel, waiter: ChannelWaiter): void {
    if (!channel.waiters.delete(waiter) || channel.waiters.size > 0) return;
    // After `close()` the subscription has already ended.
    if (this.#channels.get(name) !== channel) return;
    this.#channels.delete(name);
    channel.subscription.end();
  }
}

class Channel {
  /** In the order of their arrival. */
  readonly waiters: Set<ChannelWaiter> = new Set();
  readonly subscription: Subscription;
  readonly #rule: WakeRule;
  /** The promise `ready` after which all waiters are called. */
  #awaited: Subscription["ready"] | undefined;

  constructor(line: RedisLine, name: string, kind: "plain" | "redisson", rule: WakeRule) {
    this.#rule = rule;
    this.subscription = line.subscribe(name, kind, (message) => this.#received(message));
  }

  /**
   * Calls `waiter.ready` once messages arrive. One reaction to the promise serves all waiters: if the server denies the channel,
   * the promise stays pending, and reactions of their own would keep every waiter in memory.
   */
  tellReady(waiter: ChannelWaiter): void {
    const { live, ready } = this.subscription;
    // The promise rejects when the provider closes, which ends the waits by itself.
    if (live) {
      ready.then(waiter.ready, () => {});
    } else if (ready !== this.#awaited) {
      this.#awaited = ready;
      const all = (): void => {
        for (const each of [...this.waiters]) each.ready();
      };
      ready.then(all, () => {});
    }
  }

  #received(message: string): void {
    // A message without a number wakes all waiters.
    let left = this.#rule === "counted" && /^\d{1,15}$/.test(message) ? Number(message) : Infinity;
    for (const waiter of [...this.waiters]) {
      if (left <= 0) break;
      if (waiter.size > left) continue;
      left -= waiter.size;
      waiter.wake();
    }
  }

  wakeAll(): void {
    for (const waiter of [...this.waiters]) waiter.wake();
  }
}
