import type { LockHandle, Millis } from "@holdfast/core";
import { type SimulatedRuntime, simulatedRuntime } from "@holdfast/core/testing";
import { mutexKeyList, mutexKeys } from "../../src/layout/keys.js";
import type { RecipeSettings } from "../../src/recipes/requests/settings.js";
import { javaOwner, lockName } from "./contended.js";
import { SimulatedClient } from "./simulated-client.js";
import { calm, type Weather } from "./simulated-line.js";
import { SimulatedRedis } from "./simulated-redis.js";

export { javaOwner, lockName };

export const keys = mutexKeys(lockName);
export const keyList = mutexKeyList(keys);

/** A simulated server and its clients, without faults until a test sets other weather. */
export class Scene {
  readonly runtime: SimulatedRuntime = simulatedRuntime(1);
  readonly redis = new SimulatedRedis(this.runtime);
  readonly clients: SimulatedClient[] = [];
  readonly published: { readonly channel: string; readonly message: string }[] = [];

  constructor() {
    this.redis.onPublish = (channel, message) => {
      this.published.push({ channel, message });
      for (const { line } of this.clients) line.publish(channel, message);
    };
  }

  client(
    override: Partial<RecipeSettings> = {},
    weather: Partial<Weather> = {},
    keeping: ConstructorParameters<typeof SimulatedClient>[3] = {},
  ): SimulatedClient {
    const client = new SimulatedClient(this.redis, { ...calm, ...weather }, override, keeping);
    this.clients.push(client);
    return client;
  }

  /** Lets time pass until the promise settles. Fails when that takes longer than `withinMs`. */
  async settle<T>(promise: Promise<T>, withinMs: Millis = 60_000): Promise<T> {
    const untilMs = this.runtime.nowMs() + withinMs;
    const outcome: { done: boolean; value?: T; error?: unknown } = { done: false };
    promise.then(
      (value) => Object.assign(outcome, { done: true, value }),
      (error: unknown) => Object.assign(outcome, { done: true, error }),
    );
    while (!outcome.done) {
      await this.runtime.step();
      if (this.runtime.nowMs() > untilMs) throw new Error(`not settled within ${withinMs} ms`);
    }
    if ("error" in outcome) throw outcome.error;
    return outcome.value as T;
  }

  acquire(client: SimulatedClient, options: { renew?: boolean; waitMs?: Millis } = {}): Promise<LockHandle> {
    return this.settle(client.mutex(lockName).acquire(options));
  }

  /** Starts an acquire. Resolves once the client is in the queue. */
  async queue(
    client: SimulatedClient,
    options: { renew?: boolean; waitMs?: Millis; signal?: AbortSignal } = {},
  ): Promise<{ readonly granted: Promise<LockHandle>; readonly owner: string }> {
    const before = this.waiters.length;
    const granted = client.mutex(lockName).acquire(options);
    // A test that lets the acquire fail handles the rejection itself, possibly later.
    granted.catch(() => {});
    while (this.waiters.length === before) await this.runtime.step();
    await this.runtime.advance(5);
    return { granted, owner: this.waiters.at(-1) as string };
  }

  get waiters(): readonly string[] {
    this.redis.space.at(this.redis.nowUs);
    return this.redis.space.list(keys.waiters).map((entry) => entry.split(" ")[0] as string);
  }

  get holder(): string | undefined {
    return this.redis.holderOf(lockName);
  }

  get pttlMs(): number {
    this.redis.space.at(this.redis.nowUs);
    return this.redis.space.pttl(lockName);
  }

  count(script: string): number {
    return this.redis.executed.get(script) ?? 0;
  }

  javaTakes(leaseMs: Millis = 30_000): void {
    this.redis.space.at(this.redis.nowUs);
    this.redis.space.hset(lockName, javaOwner, "1");
    this.redis.space.expire(lockName, leaseMs);
  }
}
