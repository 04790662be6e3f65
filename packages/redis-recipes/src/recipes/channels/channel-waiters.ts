import type { Millis, Runtime } from "@holdfast/core";
import type { RedisLine, Subscription } from "../../client/redis-line.js";
import type { WakeRule } from "../kinds/kind.js";
import { every } from "./every.js";

/** Between a message that was lost and the next look: a second, spread so that clients do not look in step. */
export function cappedSleepMs(runtime: Runtime): Millis {
  return 1_000 * (0.75 + 0.25 * runtime.random());
}

export interface ChannelWaiter {
  /** How much of the number in a message this waiter would use up. */
  readonly size: number;
  /** Called as soon as messages arrive, and perhaps again after a loss. */
  readonly ready: () => void;
  wake(): void;
}

/**
 * The requests of one provider that wait for messages, by channel: one subscription however many there are. A message is a hint only, so
 * a request that is woken asks again. Whatever may have swallowed messages (a reconnect of either connection, another master) wakes all.
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

  /** The result takes the waiter back. */
  enter(name: string, kind: "plain" | "redisson", rule: WakeRule, waiter: ChannelWaiter): () => void {
    const channel = this.#channels.get(name) ?? new Channel(this.#line, name, kind, rule);
    this.#channels.set(name, channel);
    channel.waiters.add(waiter);
    channel.tellReady(waiter);
    return () => this.#leave(name, channel, waiter);
  }

  /**
   * Calls `changed` at each message, once messages arrive, after each reconnect, and about each second besides, since
   * messages get lost and a lease that runs out sends none. Never before it has returned. The result ends it.
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

  /** How many wait for messages of a channel. */
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
    // Not after `close()`, which has ended it.
    if (this.#channels.get(name) !== channel) return;
    this.#channels.delete(name);
    channel.subscription.end();
  }
}

class Channel {
  /** In the order of their coming. */
  readonly waiters: Set<ChannelWaiter> = new Set();
  readonly subscription: Subscription;
  readonly #rule: WakeRule;
  /** The `ready` of the subscription by which all that wait are called. */
  #awaited: Subscription["ready"] | undefined;

  constructor(line: RedisLine, name: string, kind: "plain" | "redisson", rule: WakeRule) {
    this.#rule = rule;
    this.subscription = line.subscribe(name, kind, (message) => this.#received(message));
  }

  /** One reaction serves all: where the server denies the channel the promise stays pending, and would keep each that has ever waited. */
  tellReady(waiter: ChannelWaiter): void {
    const { live, ready } = this.subscription;
    // It rejects when the provider closes, which ends the waits by itself.
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
