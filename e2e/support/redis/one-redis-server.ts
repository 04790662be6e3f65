import { type RedisLocks, type RedisLocksOptions, redisLocks } from "@holdfast/redis-recipes";
import {
  eventually,
  type RedisNode,
  type RedisProxy,
  startRedis,
  startRedisProxy,
} from "@holdfast/test-servers";
import { afterAll, beforeAll, onTestFinished } from "vitest";

/** Heartbeats are so rare here that they cannot be the cause of anything that comes in time. */
export const rare = { heartbeatMs: 20_000, aliveMs: 70_000 };

/** One real server for a test file, and providers on it that are closed with the test. */
export class OneServer {
  #node: RedisNode | undefined;
  #names = 0;

  constructor() {
    beforeAll(async () => {
      this.#node = await startRedis();
    });
    afterAll(() => this.#node?.stop());
  }

  get node(): RedisNode {
    if (this.#node === undefined) throw new Error("the server is not there");
    return this.#node;
  }

  async locks(options: Omit<RedisLocksOptions, "url"> = {}): Promise<RedisLocks> {
    const provider = redisLocks({ url: this.node.url, heartbeatMs: 200, aliveMs: 700, ...options });
    onTestFinished(async () => {
      await provider.close();
    });
    await provider.ready();
    return provider;
  }

  /**
   * A provider with a link of its own, which a test may cut or tamper with. It is closed with the test, whatever state the link
   * is in.
   */
  async linked(
    options: Omit<RedisLocksOptions, "url"> = {},
  ): Promise<{ locks: RedisLocks; link: RedisProxy }> {
    const link = await startRedisProxy({ target: { host: "127.0.0.1", port: this.node.port } });
    const locks = redisLocks({
      url: `redis://127.0.0.1:${link.port}`,
      heartbeatMs: 200,
      aliveMs: 700,
      ...options,
    });
    onTestFinished(async () => {
      await locks.close({ releaseTimeoutMs: 200 });
      await link.close();
    });
    await locks.ready();
    return { locks, link };
  }

  /** The server's clock in milliseconds. */
  async nowMs(): Promise<number> {
    const [seconds, micros] = await this.texts("TIME");
    return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
  }

  name(what: string): string {
    return `${what}-${++this.#names}`;
  }

  async number(...command: string[]): Promise<number> {
    return Number(await this.node.command(...(command as [string])));
  }

  async texts(...command: string[]): Promise<string[]> {
    const answer = await this.node.command(...(command as [string]));
    if (!Array.isArray(answer)) throw new Error(`${command[0]} answered no list`);
    return answer.map(String);
  }

  /** Waits until the list `key` has this length. */
  async untilLong(key: string, length: number): Promise<void> {
    await eventually(async () => (await this.number("LLEN", key)) === length, {
      what: `${length} in the list ${key}`,
    });
  }
}
