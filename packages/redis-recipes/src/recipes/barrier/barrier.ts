import type { BarrierStore } from "@holdfast/core/internal";
import { ourChannels } from "../../layout/channels.js";
import { barrierKeys } from "../../layout/keys.js";
import { barrierGate, type GateArgs } from "../../scripts/barrier/gate.js";
import type { RetryingRequests } from "../requests/retrying-requests.js";

/**
 * A gate, which Redisson does not have: shut while the key `holdfast_barrier:{name}` is there. It has no TTL, so it stays shut
 * when the one who shut it is gone. Shutting or opening twice is once.
 */
export class RedisBarrier implements BarrierStore {
  readonly #runs: RetryingRequests;
  readonly #key: string;
  readonly #channel: string;

  /** `name` with the provider's prefix. */
  constructor(runs: RetryingRequests, name: string) {
    this.#runs = runs;
    this.#key = barrierKeys(name).shut;
    this.#channel = ourChannels.barrier(name);
  }

  async shut(): Promise<void> {
    await this.#call("shut", false);
  }

  async open(): Promise<void> {
    await this.#call("open", false);
  }

  subscribe(changed: () => void): () => void {
    return this.#runs.watch(this.#channel, "plain", changed);
  }

  read(): Promise<boolean> {
    return this.#call("read", true);
  }

  async #call(action: GateArgs["action"], patient: boolean): Promise<boolean> {
    const args = barrierGate.args({ action, changes: this.#channel });
    const gate = await this.#runs.run(barrierGate, { keys: [this.#key], args, repeatable: true, patient });
    return gate.shut;
  }
}
