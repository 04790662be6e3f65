import { RedissonObject, type RedissonWait } from "./redisson-object.js";

/** One `RCountDownLatch`. */
export class RedissonLatch extends RedissonObject {
  /** False when a count is set already. */
  trySetCount(count: number): Promise<boolean> {
    return this.askWhether("trySetCount", [count]);
  }

  async countDown(): Promise<void> {
    await this.ask("countDown");
  }

  count(): Promise<number> {
    return this.askNumber("count");
  }

  /** False when the count did not become zero in time. */
  async wait({ waitMs = -1 }: RedissonWait = {}): Promise<boolean> {
    return (await this.askLong("await", waitMs, [waitMs]))[0] === "true";
  }

  delete(): Promise<boolean> {
    return this.askWhether("delete");
  }
}
