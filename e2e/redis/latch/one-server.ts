import { type RedisLocks, type RedisLocksOptions, redisLocks } from "@holdfast/redis-recipes";
import { eventually, type RedisNode, startRedis } from "@holdfast/test-servers";
import { afterAll, beforeAll, onTestFinished } from "vitest";

/** One real server for a file of tests, and providers on it that end with the test. */
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

  /** Until `key`, a list, is so long. */
  async untilLong(key: string, length: number): Promise<void> {
    await eventually(async () => (await this.number("LLEN", key)) === length, {
      what: `${length} in the list ${key}`,
    });
  }
}
