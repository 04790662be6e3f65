import type { Millis } from "@holdfast/core";
import { type Answer, type ExtendAnswer, marginMs } from "@holdfast/redis-recipes/internal";
import type { VotingNode } from "./voting-node.js";

/** One node's vote for a hold. It counts until there is evidence that the node did not have it for some time in between. */
export interface StandingVote {
  /** The time, by our clock, until which the node keeps the vote without another request of ours. */
  untilMs: Millis;
  /** The node had the vote at some time later than this. */
  confirmedMs: Millis;
  /** When the vote began to count. */
  readonly sinceMs: Millis;
  /**
   * The votes that were a majority at that time, as far as no evidence speaks against it. `null`: the vote is one of those
   * that won the hold.
   */
  readonly vouchers: Set<StandingVote> | null;
}

/**
 * The votes of a hold. A vote that came after the grant counts only because other votes were a majority while it came, so
 * that no other client can have held just before. These other votes vouch for it. When it turns out that they were no
 * majority, the later vote does not count either.
 */
export class StandingVotes {
  readonly #majority: number;
  readonly #votes = new Map<VotingNode, StandingVote>();

  constructor(majority: number, won: readonly VotingNode[], startedMs: Millis, untilMs: Millis) {
    this.#majority = majority;
    for (const node of won) {
      this.#votes.set(node, { untilMs, confirmedMs: startedMs, sinceMs: startedMs, vouchers: null });
    }
  }

  get(node: VotingNode): StandingVote | undefined {
    return this.#votes.get(node);
  }

  /** The votes as they are now. */
  entries(): ReadonlyMap<VotingNode, StandingVote> {
    return new Map(this.#votes);
  }

  /** The number of nodes that cannot have given their vote to another client. */
  backing(nowMs: Millis): number {
    return this.#backers(nowMs).length;
  }

  /** The time until which a majority keeps its votes. */
  endMs(): Millis {
    const ends = [...this.#votes.values()].map(({ untilMs }) => untilMs).sort((one, other) => other - one);
    return ends[this.#majority - 1] ?? -Infinity;
  }

  /** Adds a vote that came after the grant. It does not count when no majority vouches for it. */
  add(
    node: VotingNode,
    { nowMs, askedMs, untilMs }: { nowMs: Millis; askedMs: Millis; untilMs: Millis },
  ): void {
    const vouchers = this.#backers(nowMs);
    if (this.#votes.has(node) || vouchers.length < this.#majority) return;
    this.#votes.set(node, { untilMs, confirmedMs: askedMs, sinceMs: nowMs, vouchers: new Set(vouchers) });
  }

  /** The node may have given its vote to another client since. Until the node is asked, the vote backs the hold no more. */
  doubt(node: VotingNode, nowMs: Millis): void {
    const vote = this.#votes.get(node);
    if (vote !== undefined) vote.untilMs = Math.min(vote.untilMs, nowMs);
  }

  /**
   * Takes over an answer about `vote`, whatever has become of the vote meanwhile. `leaseMs`: the lease that was asked for, 0
   * for none.
   */
  heard(vote: StandingVote, { reply, sentMs, answeredMs }: Answer<ExtendAnswer>, leaseMs: Millis): void {
    if (reply.status === "gone") {
      this.#gone(vote);
    } else if (reply.status === "extended") {
      vote.confirmedMs = Math.max(vote.confirmedMs, sentMs);
      // The vote is kept for ever, because another client has removed its time-to-live.
      if (reply.pttlMs < 0) return;
      const leftMs = leaseMs > 0 ? Math.min(reply.pttlMs, leaseMs) : reply.pttlMs;
      const readMs = sentMs + leftMs - marginMs(leftMs);
      // What the node promised before stands, unless the vote ends earlier even by the latest reading of this answer. Then
      // its clock was stepped.
      vote.untilMs = answeredMs + reply.pttlMs < vote.untilMs ? readMs : Math.max(vote.untilMs, readMs);
    }
  }

  #gone(vote: StandingVote): void {
    for (const [node, each] of this.#votes) if (each === vote) this.#votes.delete(node);
    for (const each of [...this.#votes.values()]) {
      // A vote that was seen after the other vote had begun to count did vouch for it.
      if (vote.confirmedMs >= each.sinceMs || each.vouchers?.delete(vote) !== true) continue;
      if (each.vouchers.size < this.#majority) this.#gone(each);
    }
  }

  #backers(nowMs: Millis): readonly StandingVote[] {
    return [...this.#votes.values()].filter(({ untilMs }) => untilMs > nowMs);
  }
}
