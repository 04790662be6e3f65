import { BackendError, type FencingToken, type Grant, type GrantChange, type Millis } from "@holdfast/core";
import { type Answer, type ExtendAnswer, marginMs } from "@holdfast/redis-recipes/internal";
import { type Ballot, holdRound, quorumError, votesOf } from "./ballot.js";
import type { RedLockDesk } from "./desk.js";
import type { NodeLock } from "./node-locks.js";
import { type StandingVote, StandingVotes } from "./standing-votes.js";
import type { VotingNode } from "./voting-node.js";
import type { Withdrawal } from "./withdrawal.js";

export interface Won {
  readonly lock: NodeLock;
  readonly owner: string;
  readonly token: FencingToken | null;
  readonly leaseMs: Millis;
  /** When the first vote was asked for. */
  readonly startedMs: Millis;
  readonly votes: readonly VotingNode[];
  readonly roundTrips: number;
  readonly contended: boolean;
  readonly revocable: boolean;
}

type Extension = Answer<ExtendAnswer>;

const retryMs: Millis = 100;

/**
 * A hold that lives as long as a majority says so. Nodes that did not vote at first, or have lost our vote, are asked for one as long as the
 * hold is renewed: its majority may wander from nodes that fail to others. `StandingVotes` says which of them count.
 */
export class RedLockGrant implements Grant {
  readonly token: FencingToken | null;
  readonly backendId: string;
  readonly permitIds: readonly string[] = [];
  readonly roundTrips: number;
  readonly contended: boolean;
  readonly #desk: RedLockDesk;
  readonly #won: Won;
  readonly #votes: StandingVotes;
  #validUntilMs: Millis;
  #revokeAsked = false;
  #periodic = false;
  #uncertain = false;
  #rechecking = false;
  #ended = false;
  #withdrawal: Withdrawal | undefined;
  #cancelPoll: (() => void) | undefined;
  #cancelEnd: (() => void) | undefined;
  #listener: ((change: GrantChange) => void) | undefined;
  #untold: GrantChange[] = [];

  constructor(desk: RedLockDesk, won: Won) {
    this.#desk = desk;
    this.#won = won;
    this.token = won.token;
    this.backendId = won.owner;
    this.roundTrips = won.roundTrips;
    this.contended = won.contended;
    this.#validUntilMs = endOf(won.startedMs, won.leaseMs);
    this.#votes = new StandingVotes(desk.majority, won.votes, won.startedMs, this.#validUntilMs);
    desk.holds.add(this);
    this.#armPoll();
    if (desk.connected < desk.majority) this.becomeUncertain();
  }

  /** A vote that came after the majority was there. */
  addVote(node: VotingNode): void {
    const { startedMs, leaseMs } = this.#won;
    if (this.#ended || this.#desk.isTwin(node)) return;
    const untilMs = endOf(startedMs, leaseMs);
    this.#votes.add(node, { nowMs: this.#desk.runtime.nowMs(), askedMs: startedMs, untilMs });
  }

  validUntilMs(): Millis {
    return this.#validUntilMs;
  }

  onState(listener: (change: GrantChange) => void): void {
    this.#listener = listener;
    const untold = this.#untold;
    this.#untold = [];
    for (const change of untold) listener(change);
  }

  async renew(leaseMs: Millis, options: { readonly due: boolean } = { due: false }): Promise<Millis | null> {
    this.#periodic ||= options.due;
    const stands = await this.#extend(leaseMs);
    return stands ? this.#validUntilMs : null;
  }

  release(): Promise<boolean> {
    this.#end();
    return this.#withdraw();
  }

  /** Its ticket is cancelled. */
  async abandon(): Promise<void> {
    this.#end();
    await this.#withdraw();
  }

  get key(): string {
    return this.#won.lock.key;
  }

  /** Another grant of the same lock shows that this one is over, however late that is noticed. */
  overtaken(): void {
    if (this.#ended) return;
    this.#end();
    this.#tell({ type: "lost", reason: "quorum-lost" });
  }

  becomeUncertain(): void {
    if (this.#uncertain || this.#ended) return;
    this.#uncertain = true;
    this.#tell({ type: "uncertain" });
  }

  /** Every node that names us says so. */
  revokeAsked(): void {
    if (!this.#won.revocable || this.#revokeAsked || this.#ended) return;
    this.#revokeAsked = true;
    this.#tell({ type: "revoke-requested" });
  }

  contactRegained(): void {
    if (this.#uncertain) void this.#recheck();
  }

  /** `forgotten`: the node may have given our vote to somebody else since. */
  doubt(node: VotingNode, { forgotten }: { readonly forgotten: boolean }): void {
    if (this.#votes.get(node) === undefined) return;
    if (forgotten) this.#votes.doubt(node, this.#desk.runtime.nowMs());
    void this.#recheck();
  }

  /** `false` when it was not ours any more. Rejects with `QuorumError` when too few nodes said anything. 0 only looks. */
  async #extend(wantedMs: Millis): Promise<boolean> {
    const { runtime, settings, nodes, majority } = this.#desk;
    const { lock, owner, startedMs } = this.#won;
    const allowedMs = startedMs + settings.maxHoldMs - runtime.nowMs();
    const leaseMs = Math.floor(Math.max(0, Math.min(wantedMs, allowedMs, settings.maxLeaseMs)));
    // Votes that come from now on are for the next round.
    const asked = this.#votes.entries();
    this.#repair(nodes.filter((node) => !asked.has(node)));
    const standing = (ballots: readonly Ballot<VotingNode, Extension>[]) =>
      ballots.filter(
        ({ node, outcome }) =>
          "reply" in outcome &&
          outcome.reply.reply.status === "extended" &&
          this.#votes.get(node) === asked.get(node),
      ).length;
    const round = await holdRound<VotingNode, Extension>(runtime, {
      nodes: [...asked.keys()],
      ask: async (node) => {
        const answer = await lock.extend(node, owner, leaseMs);
        // At once: what is gone vouches for nothing that comes after it.
        if (!this.#ended) this.#votes.heard(asked.get(node) as StandingVote, answer, leaseMs);
        return answer;
      },
      decided: (ballots) => standing(ballots) >= majority,
      timeoutMs: settings.nodeTimeoutMs,
      late: () => void this.#judge(),
    });
    if (this.#ended) throw new BackendError("the hold was released meanwhile", { backend: "redlock" });
    if (standing(round.ballots) >= majority) {
      if (leaseMs > 0) this.#validUntilMs = Math.max(this.#validUntilMs, endOf(round.startedMs, leaseMs));
      this.#judge();
      this.#recovered();
      return true;
    }
    if (!this.#judge()) return false;
    const votes = votesOf(round, ({ reply }) => ({ vote: reply.status === "extended" ? "for" : "against" }));
    throw quorumError("too few nodes confirmed the lock", lock.name, majority, votes);
  }

  /**
   * Whether it may still be ours: those that said nothing keep their vote for as long as they were last told to. It is relied on no
   * longer than a majority does so.
   */
  #judge(): boolean {
    if (this.#ended) return false;
    const { runtime, majority } = this.#desk;
    if (this.#votes.backing(runtime.nowMs()) < majority) {
      this.#end();
      this.#tell({ type: "lost", reason: "quorum-lost" });
      return false;
    }
    const endMs = this.#votes.endMs();
    if (endMs < this.#validUntilMs) {
      this.#validUntilMs = endMs;
      this.#armEnd();
    }
    return true;
  }

  /** Earlier than was said when it was granted or extended, which nobody else has a timer for. */
  #armEnd(): void {
    const { runtime } = this.#desk;
    this.#cancelEnd?.();
    this.#cancelEnd = runtime.setTimer(this.#validUntilMs - runtime.nowMs(), () => {
      if (runtime.nowMs() >= this.#validUntilMs) this.#judge();
    });
  }

  /** Nodes without a vote of ours are asked for one. */
  #repair(nodes: readonly VotingNode[]): void {
    if (!this.#periodic) return;
    const { runtime } = this.#desk;
    const { lock, owner, leaseMs } = this.#won;
    for (const node of nodes) {
      if (!node.connected || this.#desk.isTwin(node)) continue;
      lock.vote(node, owner, leaseMs).then(
        ({ reply, sentMs: askedMs }) => {
          if (reply.status !== "granted") return;
          // It may have had our vote before, with less left of it.
          const untilMs = endOf(askedMs, Math.min(reply.pttlMs, leaseMs));
          if (this.#ended) void this.#desk.withdraw(lock, owner, [node], leaseMs);
          else this.#votes.add(node, { nowMs: runtime.nowMs(), askedMs, untilMs });
        },
        // It has no vote of ours then, or one that nobody counts: it is asked again by the next round.
        () => {},
      );
    }
  }

  async #recheck(): Promise<void> {
    if (this.#rechecking || this.#ended) return;
    this.#rechecking = true;
    const { runtime } = this.#desk;
    try {
      while (!this.#ended) {
        try {
          await this.#extend(this.#periodic ? this.#won.leaseMs : 0);
          return;
        } catch {
          // Too few answers: asked again until they are there or the lease is over, which core sees to.
          if (this.#desk.connected < this.#desk.majority || runtime.nowMs() > this.#validUntilMs) return;
        }
        await new Promise<void>((resolve) => runtime.setTimer(retryMs, resolve));
      }
    } finally {
      this.#rechecking = false;
    }
  }

  /** Where core does not renew, somebody has to look whether the majority is still there. */
  #armPoll(): void {
    const { leaseMs } = this.#won;
    this.#cancelPoll = this.#desk.runtime.setTimer(leaseMs / 3, () => {
      if (!this.#periodic) void this.#recheck();
      this.#armPoll();
    });
  }

  async #withdraw(): Promise<boolean> {
    const { lock, owner, leaseMs } = this.#won;
    this.#withdrawal ??= this.#desk.withdraw(lock, owner, this.#desk.nodes, leaseMs);
    const votes = [...this.#votes.entries().keys()];
    await this.#withdrawal.done;
    const { found } = this.#withdrawal;
    return votes.filter((node) => found.get(node) !== false).length >= this.#desk.majority;
  }

  #end(): void {
    this.#ended = true;
    this.#cancelPoll?.();
    this.#cancelEnd?.();
    this.#desk.holds.delete(this);
  }

  #recovered(): void {
    if (!this.#uncertain || this.#desk.connected < this.#desk.majority) return;
    this.#uncertain = false;
    this.#tell({ type: "recovered" });
  }

  #tell(change: GrantChange): void {
    if (this.#listener === undefined) this.#untold.push(change);
    else this.#listener(change);
  }
}

/** Counted from the first request: every node's lease began later than that. */
export function endOf(startedMs: Millis, leaseMs: Millis): Millis {
  return startedMs + leaseMs - marginMs(leaseMs);
}
