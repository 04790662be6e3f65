import type { Millis } from "@holdfast/core";
import type { SimulatedRuntime } from "@holdfast/core/testing";
import { nodeIdentityKey } from "@holdfast/redis-recipes/internal";
import { Keyspace } from "../../../redis-recipes/test/model/keyspace.js";
import { RedLockModel } from "../../../redis-recipes/test/model/redlock-model.js";
import { SimulatedRedis } from "../../../redis-recipes/test/recipes/simulated-redis.js";

/** What is left of a node's memory when it comes back. */
export type Memory = "all" | "nothing" | "snapshot";

/** One of the masters. Its scripts are the models that the differential test compares with the real scripts. */
export class SimulatedNode extends SimulatedRedis {
  down = false;
  #snapshot = new Keyspace();
  #starts = 0;
  readonly #number: number;

  /** The node is known for `knownForMs`, long enough to vote at once. */
  constructor(runtime: SimulatedRuntime, number: number, knownForMs: Millis) {
    super(runtime);
    this.#number = number;
    this.#start();
    const { now } = this;
    now.hset(nodeIdentityKey, "run_id", this.runId);
    now.hset(nodeIdentityKey, "first_seen_ms", String(now.nowMs - Math.ceil(knownForMs)));
    now.hset(nodeIdentityKey, "longest_lease_ms", "0");
    this.save();
  }

  /** Saves the state that a restart with "snapshot" brings back. */
  save(): void {
    this.#snapshot = copyOf(this.space);
  }

  /** Stops the server and starts it with another run id. No client reaches it until its lines are mended. */
  restart(memory: Memory): void {
    if (memory === "nothing") this.space = new Keyspace();
    if (memory === "snapshot") this.space = copyOf(this.#snapshot);
    this.#start();
  }

  override execute(name: string, keys: readonly string[], args: readonly (string | number)[]): unknown {
    if (name !== "redlock-vote" && name !== "redlock-extend") return super.execute(name, keys, args);
    this.onExecute(name, keys);
    this.space.at(this.nowUs);
    const [lock, token, identity] = keys as [string, string, string];
    const model = new RedLockModel(this.space, { lock, token, identity }, this.runId);
    const text = (place: number): string => String(args[place]);
    const number = (place: number): number => Number(args[place]);
    if (name === "redlock-extend") {
      return model.extend({
        owner: text(0),
        leaseMs: number(1),
        guard: number(2) === 1,
        maxLeaseMs: number(3),
        floor: BigInt(text(4)),
        tokenTtlMs: number(5),
      });
    }
    return model.vote({
      owner: text(0),
      leaseMs: number(1),
      notAfterMs: number(2) === 0 ? null : number(2) / 1000,
      tokenTtlMs: number(3),
      guard: number(4) === 1,
      maxLeaseMs: number(5),
    });
  }

  #start(): void {
    this.runId = `${this.#number}${String(++this.#starts).padStart(39, "0")}`;
  }
}

function copyOf(space: Keyspace): Keyspace {
  const copy = new Keyspace();
  copy.nowUs = space.nowUs;
  for (const [name, key] of space.keys) copy.keys.set(name, structuredClone(key));
  return copy;
}
