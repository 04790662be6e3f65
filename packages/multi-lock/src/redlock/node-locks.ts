import type { Millis } from "@holdfast/core";
import {
  type Answer,
  type ExtendAnswer,
  extend,
  mutexKeyList,
  mutexKeys,
  mutexRelease,
  nodeIdentityKey,
  type ReleaseAnswer,
  redissonChannels,
  type VoteAnswer,
  vote,
} from "@holdfast/redis-recipes/internal";
import type { VotingNode } from "./voting-node.js";

export interface NodeLockSettings {
  readonly restartGuard: boolean;
  readonly maxLeaseMs: Millis;
  readonly nodeTimeoutMs: Millis;
  readonly tokenTtlMs: Millis;
}

/** Where a lock of a node goes on the node itself, when `redisLocks` clients of that very node wait for it. */
const passing = {
  claimMs: 3_000,
  aliveMs: 3_500,
  maxDirectRun: 8,
  publish: "publish",
  changes: "",
} as const;

/** A name as each of the nodes has it: Redisson's plain lock, which its multi-lock and RedLock take on each of theirs. */
export class NodeLock {
  readonly name: string;
  readonly key: string;
  /** Where Redisson and we tell that the node's lock is free. */
  readonly channel: string;
  readonly #voteKeys: readonly string[];
  readonly #allKeys: readonly string[];
  readonly #settings: NodeLockSettings;

  constructor(name: string, key: string, settings: NodeLockSettings) {
    const keys = mutexKeys(key);
    this.name = name;
    this.key = key;
    this.channel = redissonChannels.mutex(key);
    this.#voteKeys = [keys.lock, keys.token, nodeIdentityKey];
    this.#allKeys = mutexKeyList(keys);
    this.#settings = settings;
  }

  vote(node: VotingNode, owner: string, leaseMs: Millis): Promise<Answer<VoteAnswer>> {
    const { maxLeaseMs, nodeTimeoutMs, tokenTtlMs } = this.#settings;
    return node.ask(vote, this.#voteKeys, {
      owner,
      leaseMs,
      // A copy that comes when nobody wants it any more must not put an owner back that was withdrawn.
      notAfterMs: node.notAfterMs(2 * nodeTimeoutMs),
      tokenTtlMs,
      guard: this.#guarded(node),
      maxLeaseMs,
    });
  }

  extend(node: VotingNode, owner: string, leaseMs: Millis, floor = 0n): Promise<Answer<ExtendAnswer>> {
    const { maxLeaseMs, tokenTtlMs } = this.#settings;
    const guard = this.#guarded(node);
    return node.ask(extend, this.#voteKeys, { owner, leaseMs, guard, maxLeaseMs, floor, tokenTtlMs });
  }

  release(node: VotingNode, owner: string): Promise<Answer<ReleaseAnswer>> {
    const { tokenTtlMs } = this.#settings;
    const args = mutexRelease.args({ ...passing, owner, tokenTtlMs, channel: this.channel });
    return node.line.run(mutexRelease, this.#allKeys, args);
  }

  #guarded(node: VotingNode): boolean {
    return this.#settings.restartGuard && !node.durable;
  }
}
