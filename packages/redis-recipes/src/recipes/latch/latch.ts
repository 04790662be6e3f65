import type { LatchStore } from "@holdfast/core/internal";
import { redissonChannels } from "../../layout/channels.js";
import { type LatchArgs, latchCount } from "../../scripts/latch/count.js";
import { foundElse } from "../requests/foreign-key.js";
import type { RetryingRequests } from "../requests/retrying-requests.js";

/**
 * Redisson's `RCountDownLatch`. Unlike it, whoever waits looks again each second, so a lost message holds nobody up; `countDown`
 * takes any number off.
 *
 * A countdown whose answer is lost rejects with an error that is not retryable: it may have counted, and Redis keeps nothing
 * that could tell one countdown from another.
 */
export class RedisLatch implements LatchStore {
  readonly #runs: RetryingRequests;
  readonly #name: string;
  readonly #key: string;

  /** `key`: of the count, with the provider's prefix. */
  constructor(runs: RetryingRequests, name: string, key: string) {
    this.#runs = runs;
    this.#name = name;
    this.#key = key;
  }

  async trySetCount(count: number): Promise<boolean> {
    return (await this.#call("set", count, { repeatable: false, patient: false })).changed;
  }

  async countDown(by: number): Promise<number> {
    return (await this.#call("down", by, { repeatable: false, patient: false })).count;
  }

  async count(): Promise<number> {
    return (await this.#call("read", 0, { repeatable: true, patient: false })).count;
  }

  subscribe(changed: () => void): () => void {
    return this.#runs.watch(redissonChannels.latch(this.#key), "redisson", changed);
  }

  async read(): Promise<number> {
    return (await this.#call("read", 0, { repeatable: true, patient: true })).count;
  }

  async #call(
    action: LatchArgs["action"],
    count: number,
    how: { readonly repeatable: boolean; readonly patient: boolean },
  ): Promise<{ readonly changed: boolean; readonly count: number }> {
    const { line } = this.#runs;
    const channel = redissonChannels.latch(this.#key);
    const args = latchCount.args({ action, count, publish: line.publishCommand, channel });
    const reply = await this.#runs.run(latchCount, { keys: [this.#key], args, ...how });
    if (reply.status === "counted") return reply;
    throw foundElse(this.#name, this.#key, reply.found, "the count of a latch");
  }
}
