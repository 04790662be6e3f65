import { type RedisLocks, type RedisLocksOptions, redisLocks } from "@holdfast/redis-recipes";
import { type RedisNode, startRedis } from "@holdfast/test-servers";
import type { RedissonClient, RedissonClientOptions } from "../../support/redisson/redisson-client.js";
import { type OurProcess, startOurProcess } from "../../support/redisson/redisson-contender-process.js";
import { type RedissonPeer, startRedissonPeer } from "../../support/redisson/redisson-peer.js";
import type { RedissonVersion } from "../../support/redisson/redisson-versions.js";

/** One real server, JVMs with Redisson, and whatever clients of either kind a test asks for. */
export class RedissonFixture {
  readonly redis: RedisNode;
  readonly java: RedissonPeer;
  readonly #redisson: RedissonVersion;
  readonly #leaseMs: number;
  readonly #providers: RedisLocks[] = [];
  readonly #ended: AsyncDisposable[] = [];

  private constructor(redis: RedisNode, java: RedissonPeer, redisson: RedissonVersion, leaseMs: number) {
    this.redis = redis;
    this.java = java;
    this.#redisson = redisson;
    this.#leaseMs = leaseMs;
  }

  /** `leaseMs`: how long a hold outlives its client, for clients of either kind. */
  static async start(redisson: RedissonVersion, leaseMs: number): Promise<RedissonFixture> {
    const redis = await startRedis();
    try {
      return new RedissonFixture(redis, await startRedissonPeer({ redisson }), redisson, leaseMs);
    } catch (error) {
      await redis.stop();
      throw error;
    }
  }

  /** A Redisson client in the shared JVM, or in `jvm`. */
  redisson(
    options: Partial<RedissonClientOptions> = {},
    jvm: RedissonPeer = this.java,
  ): Promise<RedissonClient> {
    const servers = { mode: "single", address: this.redis.url } as const;
    return jvm.connect({ servers, lockWatchdogTimeoutMs: this.#leaseMs, ...options });
  }

  /** Starts one more JVM, which ends with the fixture. */
  async jvm(): Promise<RedissonPeer> {
    const jvm = await startRedissonPeer({ redisson: this.#redisson });
    this.#ended.push(jvm);
    return jvm;
  }

  /** A connected provider of ours. */
  async ours(options: Omit<RedisLocksOptions, "url"> = {}): Promise<RedisLocks> {
    const locks = redisLocks({ ...this.#ourOptions(), ...options });
    this.#providers.push(locks);
    await locks.ready();
    return locks;
  }

  /** Starts a process with a connected provider of ours. The test has to end it. */
  ourProcess(): Promise<OurProcess> {
    return startOurProcess(this.#ourOptions());
  }

  /** Has `thing` closed with the fixture. */
  use<T extends AsyncDisposable>(thing: T): T {
    this.#ended.push(thing);
    return thing;
  }

  async close(): Promise<void> {
    try {
      await Promise.all(this.#providers.map((locks) => locks.close()));
      await Promise.all([...this.#ended, this.java].map((thing) => thing[Symbol.asyncDispose]()));
    } finally {
      await this.redis.stop();
    }
  }

  #ourOptions(): RedisLocksOptions {
    return { url: this.redis.url, leaseMs: this.#leaseMs };
  }
}
