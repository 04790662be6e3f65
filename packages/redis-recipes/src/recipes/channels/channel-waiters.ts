import type { Millis, Runtime } from "@holdfast/core";
import type { RedisLine, Subscription } from "../../client/redis-line.js";
import type { WakeRule } from "../kinds/kind.js";

/** Between a message that was lost and the next look: a second, spread so that clients do not look in step. */
export function cappedSleepMs(runtime: Runtime, capMs: Millis = 1_000): Millis {
  return capMs * (0.75 + 0.25 * runtime.random());
}

export interface ChannelWaiter {
  /** How much of what a message tells this one would use up. */
  readonly size: number;
  wake(): void;
}

/** A message without a number, which wakes all waiters. */
const unknown = -1;

/**
 * The requests of one provider that wait for messages, by channel: one subscription however many there are. A message is a hint only, so
 * a request that is woken asks again. Whatever may have swallowed messages (a reconnect of either connection, another master) wakes all.
 */
export class ChannelWaiters {
  readonly #line: RedisLine;
  readonly #channels = new Map<string, Channel>();
  readonly #stop: () => void;

  constructor(line: RedisLine) {
    this.#line = line;
    this.#stop = line.onRenewed(() => {
      for (const channel of [...this.#channels.values()]) channel.wakeAll();
    });
  }

  enter(name: string, kind: "plain" | "redisson", rule: WakeRule, waiter: ChannelWaiter): ChannelPlace {
    let channel = this.#channels.get(name);
    if (channel === undefined) {
      const opened = new Channel(rule);
      opened.subscription = this.#line.subscribe(name, kind, (message) => opened.received(message));
      // It rejects when the provider closes, which ends the waits by itself.
      opened.subscription.ready.catch(() => {});
      this.#channels.set(name, opened);
      channel = opened;
    }
    return new ChannelPlace(channel, waiter, () => this.#left(name));
  }

  /** How many wait for messages of a channel. */
  waitingOn(name: string): number {
    return this.#channels.get(name)?.waiters.size ?? 0;
  }

  close(): void {
    this.#stop();
    for (const channel of this.#channels.values()) channel.subscription?.end();
    this.#channels.clear();
  }

  #left(name: string): void {
    const channel = this.#channels.get(name);
    if (channel === undefined || channel.waiters.size > 0) return;
    this.#channels.delete(name);
    channel.subscription?.end();
  }
}

class Channel {
  /** In the order of their coming. */
  readonly waiters: Set<ChannelWaiter> = new Set();
  subscription: Subscription | null = null;
  readonly #rule: WakeRule;

  constructor(rule: WakeRule) {
    this.#rule = rule;
  }

  received(message: string): void {
    const number = /^\d{1,15}$/.test(message) ? Number(message) : unknown;
    if (this.#rule === "all" || number === unknown) {
      this.wakeAll();
      return;
    }
    let left = number;
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

/** The place of one waiter in a channel. */
export class ChannelPlace {
  readonly #channel: Channel;
  readonly #waiter: ChannelWaiter;
  readonly #left: () => void;

  constructor(channel: Channel, waiter: ChannelWaiter, left: () => void) {
    this.#channel = channel;
    this.#waiter = waiter;
    this.#left = left;
    channel.waiters.add(waiter);
  }

  /** Resolved while messages arrive. */
  get ready(): Promise<void> {
    return this.#channel.subscription?.ready ?? Promise.resolve();
  }

  leave(): void {
    if (this.#channel.waiters.delete(this.#waiter)) this.#left();
  }
}
