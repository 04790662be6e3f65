import type { Millis } from "@holdfast/core";
import {
  type Answer,
  type ExtendAnswer,
  extend,
  isMisdated,
  mutex,
  mutexRelease,
  nodeIdentityKey,
  type ReleaseAnswer,
  type VoteAnswer,
  vote,
} from "@holdfast/redis-recipes/internal";
import type { ResolvedRedLocksOptions } from "./options.js";
import type { VotingNode } from "./voting-node.js";

/** How a node's lock is handed over when `redisLocks` clients of this one node wait for it. */
const handOff = {
  claimMs: 3_000,
  aliveMs: 3_500,
  maxDirectRun: 8,
  publish: "publish",
  changes: "",
} as const;

/**
 * One lock name on the nodes. It is Redisson's plain lock, which Redisson's multi-lock and RedLock take on each of their
 * nodes.
 */
export class NodeLock {
  readonly name: string;
  readonly key: string;
  /** The channel on which Redisson and we publish that the node's lock is free. */
  readonly channel: string;
  readonly #voteKeys: readonly string[];
  readonly #allKeys: readonly string[];
  readonly #settings: ResolvedRedLocksOptions;

  constructor(name: string, settings: ResolvedRedLocksOptions) {
    this.name = name;
    this.key = settings.keyPrefix + name;
    const { keys, renewKeys, channel } = mutex.keysOf(this.key);
    this.channel = channel;
    this.#voteKeys = [...renewKeys, nodeIdentityKey];
    this.#allKeys = keys;
    this.#settings = settings;
  }

  /** `wanted`: whether a vote for this owner still counts. If not, a request that was refused for its date is not sent again. */
  async vote(
    node: VotingNode,
    owner: string,
    leaseMs: Millis,
    wanted: () => boolean,
  ): Promise<Answer<VoteAnswer>> {
    const { nodeTimeoutMs } = this.#settings;
    const ask = (): Promise<Answer<VoteAnswer>> => {
      // A copy of the request that arrives late must not restore the vote of an owner that was withdrawn.
      const notAfterMs = node.notAfterMs(2 * nodeTimeoutMs);
      return node.ask(vote, this.#voteKeys, { ...this.#common(node, owner, leaseMs), notAfterMs });
    };
    const answer = await ask();
    return isMisdated(answer, nodeTimeoutMs) && wanted() ? ask() : answer;
  }

  extend(node: VotingNode, owner: string, leaseMs: Millis, floor = 0n): Promise<Answer<ExtendAnswer>> {
    return node.ask(extend, this.#voteKeys, { ...this.#common(node, owner, leaseMs), floor });
  }

  release(node: VotingNode, owner: string): Promise<Answer<ReleaseAnswer>> {
    const { tokenTtlMs } = this.#settings;
    const args = mutexRelease.args({ ...handOff, owner, tokenTtlMs, channel: this.channel });
    return node.line.run(mutexRelease, this.#allKeys, args);
  }

  #common(node: VotingNode, owner: string, leaseMs: Millis) {
    const { maxLeaseMs, tokenTtlMs, restartGuard } = this.#settings;
    return { owner, leaseMs, maxLeaseMs, tokenTtlMs, guard: restartGuard && !node.durable };
  }
}
