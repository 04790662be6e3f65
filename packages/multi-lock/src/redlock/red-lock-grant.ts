import { BackendError, type FencingToken, type Millis } from "@holdfast/core";
import type { AttemptListener, Grant, GrantState } from "@holdfast/core/driver";
import { EarliestTimer, pause } from "@holdfast/core/internal";
import { marginMs } from "@holdfast/redis-recipes/internal";
import { type Ballot, holdRound, repliesOf, tooFewError } from "./ballot.js";
import type { NodeLock } from "./node-locks.js";
import type { Quorum, QuorumHold } from "./quorum.js";
import { type StandingVote, StandingVotes } from "./standing-votes.js";
import { type Extension, extensionVotes } from "./vote-count.js";
import type { VotingNode } from "./voting-node.js";
import { withdraw } from "./withdrawal.js";

export interface Won extends Pick<Grant, "token" | "roundTrips" | "contended"> {
  readonly lock: NodeLock;
  readonly owner: string;
  /**
   * The nodes that may have a vote for the owner. A node to which the request could not be sent is taken out, even after the
   * grant.
   */
  readonly asked: Set<VotingNode>;
  readonly leaseMs: Millis;
  /** When the first vote was asked for. */
  readonly startedMs: Millis;
  readonly votes: readonly VotingNode[];
  readonly revocable: boolean;
}

const retryMs: Millis = 100;
/**
 * The time after the grant at which the votes are checked for the first time. A vote that came after the grant counts only
 * if the votes before it are known to have stood when it came. Without this check, two nodes that are cut off or restart
 * before the first renewal would end a hold that three others keep.
 */
const firstLookMs: Millis = 250;

/**
 * A hold that lasts as long as a majority votes for it. While the hold is renewed, nodes that did not vote at first or have
 * lost our vote are asked for one. So its majority can move from nodes that fail to other nodes. `StandingVotes` decides
 * which votes count.
 */
export class RedLockGrant implements QuorumHold {
  readonly token: FencingToken | null;
  readonly backendId: string;
  readonly permitIds: readonly string[] = [];
  readonly roundTrips: number;
  readonly contended: boolean;
  readonly #quorum: Quorum;
  readonly #won: Won;
  readonly #votes: StandingVotes;
  readonly #state: GrantState;
  #validUntilMs: Millis;
  #periodic = false;
  #rechecking = false;
  #ended = false;
  #withdrawn: Promise<ReadonlySet<VotingNode>> | undefined;
  #cancelPoll: (() => void) | undefined;
  /** For an end that is earlier than the one that core was last given: core's timer still has the later time. */
  readonly #endTimer: EarliestTimer;

  /** Reports itself to the listener as granted. */
  constructor(quorum: Quorum, listener: AttemptListener, won: Won) {
    this.#quorum = quorum;
    this.#won = won;
    this.token = won.token;
    this.backendId = won.owner;
    this.roundTrips = won.roundTrips;
    this.contended = won.contended;
    this.#endTimer = new EarliestTimer(quorum.runtime, () => this.#ringEnd());
    this.#validUntilMs = endOf(won.startedMs, won.leaseMs);
    this.#votes = new StandingVotes(quorum.majority, won.votes, won.startedMs, this.#validUntilMs);
    [this.#state] = listener.granted([this]);
    quorum.holds.add(this);
    this.#armPoll(Math.min(firstLookMs, won.leaseMs / 3));
    if (!quorum.connected) this.#state.uncertain();
  }

  /** It was released, or it is lost. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Adds a vote that arrived after the majority was complete. */
  addVote(node: VotingNode): void {
    const { startedMs, leaseMs } = this.#won;
    if (!this.#ended && !this.#quorum.isTwin(node)) this.#add(node, startedMs, leaseMs);
  }

  validUntilMs(): Millis {
    return this.#validUntilMs;
  }

  async prove(leaseMs: Millis, options: { readonly due: boolean } = { due: false }): Promise<Millis | null> {
    this.#periodic ||= options.due;
    return (await this.#extend(leaseMs)) ? this.#validUntilMs : null;
  }

  async release(): Promise<boolean> {
    this.#end();
    const { lock, owner, asked, leaseMs } = this.#won;
    const { nodes, majority } = this.#quorum;
    // The last nodes are not waited for when they are too few to keep another client from a majority.
    const needed = asked.size - (nodes.length - majority);
    this.#withdrawn ??= withdraw(this.#quorum, { lock, owner, nodes: [...asked], leaseMs, needed });
    const votes = [...this.#votes.entries().keys()];
    const gone = await this.#withdrawn;
    return votes.filter((node) => !gone.has(node)).length >= majority;
  }

  get key(): string {
    return this.#won.lock.key;
  }

  majorityLost(): void {
    if (this.#ended) return;
    this.#end();
    this.#state.lost("quorum-lost");
  }

  revokeAsked(): void {
    if (this.#won.revocable) this.#state.revokeRequested();
  }

  contactChanged(): void {
    if (!this.#quorum.connected) this.#state.uncertain();
    else if (this.#state.doubted) void this.#recheck();
  }

  doubt(node: VotingNode, { forgotten }: { readonly forgotten: boolean }): void {
    if (this.#votes.get(node) === undefined) return;
    if (forgotten) this.#votes.doubt(node, this.#quorum.runtime.nowMs());
    void this.#recheck();
  }

  /**
   * Extends the votes. `false`: the hold was not ours any more. Rejects with `QuorumError` when too few nodes answered.
   * `wantedMs` 0 only looks.
   */
  async #extend(wantedMs: Millis): Promise<boolean> {
    const { runtime, settings, nodes, majority } = this.#quorum;
    const { lock, owner, startedMs } = this.#won;
    const allowedMs = startedMs + settings.maxHoldMs - runtime.nowMs();
    const leaseMs = Math.floor(Math.max(0, Math.min(wantedMs, allowedMs, settings.maxLeaseMs)));
    // Votes that arrive from now on take part in the next round only.
    const asked = this.#votes.entries();
    this.#repair(nodes.filter((node) => !asked.has(node)));
    const standing = (ballots: readonly Ballot<Extension>[]) =>
      repliesOf(ballots).filter(
        ([node, { reply }]) => reply.status === "extended" && this.#votes.get(node) === asked.get(node),
      ).length;
    const round = await holdRound<Extension>(this.#quorum, {
      nodes: [...asked.keys()],
      ask: async (node) => {
        const answer = await lock.extend(node, owner, leaseMs);
        // Recorded at once, because a vote that is gone vouches for no vote that comes after it.
        if (!this.#ended) this.#votes.heard(asked.get(node) as StandingVote, answer, leaseMs);
        return answer;
      },
      decided: (ballots) => standing(ballots) >= majority,
      late: () => void this.#judge(),
    });
    if (this.#ended) throw new BackendError("the hold was released meanwhile", { backend: "redlock" });
    if (standing(round.ballots) >= majority) {
      if (leaseMs > 0) this.#validUntilMs = Math.max(this.#validUntilMs, endOf(round.startedMs, leaseMs));
      this.#judge();
      if (this.#state.doubted && this.#quorum.connected) this.#state.recovered();
      return true;
    }
    if (!this.#judge()) return false;
    throw tooFewError("too few nodes confirmed the lock", lock.name, majority, extensionVotes(round));
  }

  /**
   * Whether the hold may still be ours. Nodes that did not answer keep their vote for as long as they last promised. The
   * hold is relied on no longer than a majority keeps its votes.
   */
  #judge(): boolean {
    if (this.#ended) return false;
    const { runtime, majority } = this.#quorum;
    if (this.#votes.backing(runtime.nowMs()) < majority) {
      this.majorityLost();
      return false;
    }
    const endMs = this.#votes.endMs();
    if (endMs < this.#validUntilMs) {
      this.#validUntilMs = endMs;
      this.#endTimer.ringBy(endMs);
    }
    return true;
  }

  /** The end may have moved on meanwhile, and Node.js may call a timer early. */
  #ringEnd(): void {
    if (this.#quorum.runtime.nowMs() < this.#validUntilMs) this.#endTimer.ringBy(this.#validUntilMs);
    else this.#judge();
  }

  /** Asks nodes without a vote of ours for one. */
  #repair(nodes: readonly VotingNode[]): void {
    if (!this.#periodic) return;
    const { lock, owner, asked, leaseMs } = this.#won;
    for (const node of nodes) {
      if (!node.connected || this.#quorum.isTwin(node)) continue;
      asked.add(node);
      lock
        .vote(node, owner, leaseMs, () => !this.#ended)
        .then(
          ({ reply, sentMs: askedMs }) => {
            if (reply.status !== "granted") return;
            if (this.#ended) void withdraw(this.#quorum, { lock, owner, nodes: [node], leaseMs });
            // The node may have had our vote before, with less left of it.
            else this.#add(node, askedMs, Math.min(reply.pttlMs, leaseMs));
          },
          // The node has no vote of ours then, or one that does not count: the next round asks it again.
          () => {},
        );
    }
  }

  #add(node: VotingNode, askedMs: Millis, leaseMs: Millis): void {
    const nowMs = this.#quorum.runtime.nowMs();
    this.#votes.add(node, { nowMs, askedMs, untilMs: endOf(askedMs, leaseMs) });
  }

  async #recheck(): Promise<void> {
    if (this.#rechecking || this.#ended) return;
    this.#rechecking = true;
    const { runtime } = this.#quorum;
    try {
      while (!this.#ended) {
        try {
          await this.#extend(this.#periodic ? this.#won.leaseMs : 0);
          return;
        } catch {
          // Too few answers: this asks again until there are enough, or until the lease is over. Core ends the hold with its
          // lease.
          if (!this.#quorum.connected || runtime.nowMs() > this.#validUntilMs) return;
        }
        await pause(runtime, retryMs).over;
      }
    } finally {
      this.#rechecking = false;
    }
  }

  /**
   * Asks at intervals whether the majority still stands: until core renews the hold, and always where core never renews it.
   */
  #armPoll(afterMs: Millis): void {
    this.#cancelPoll = this.#quorum.runtime.setTimer(afterMs, () => {
      if (!this.#periodic) void this.#recheck();
      this.#armPoll(this.#won.leaseMs / 3);
    });
  }

  #end(): void {
    this.#ended = true;
    this.#cancelPoll?.();
    this.#endTimer.clear();
    this.#quorum.holds.delete(this);
  }
}

/** The end of a lease, counted from the first request, because the lease on every node began later than that. */
export function endOf(startedMs: Millis, leaseMs: Millis): Millis {
  return startedMs + leaseMs - marginMs(leaseMs);
}
