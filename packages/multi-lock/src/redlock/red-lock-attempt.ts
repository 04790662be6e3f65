import {
  BackendError,
  type FencingToken,
  HoldfastError,
  InvalidArgumentError,
  type Millis,
} from "@holdfast/core";
import type { Attempt, AttemptListener, GrantRequest } from "@holdfast/core/driver";
import { messageOf, pause } from "@holdfast/core/internal";
import { NotSentError, type Subscription } from "@holdfast/redis-recipes/internal";
import { type Ballot, holdRound, quorumError, type Round, repliesOf, tooFewError } from "./ballot.js";
import { NodeLock } from "./node-locks.js";
import { checkLease } from "./options.js";
import type { Quorum } from "./quorum.js";
import { endOf, RedLockGrant } from "./red-lock-grant.js";
import {
  type Defeat,
  defeatOf,
  type Extension,
  extensionVotes,
  spokenOf,
  type Vote,
  type VoteBallot,
  votersOf,
} from "./vote-count.js";
import type { VotingNode } from "./voting-node.js";
import { withdraw } from "./withdrawal.js";

/** The longest sleep without a message, while another client has the majority. */
const cappedSleepMs: Millis = 1_000;
/** The longest random part of the pause between two rounds that no client won. */
const longestPauseMs: Millis = 500;

/**
 * Asks for a majority, and asks again, each time as a new owner, until it has one or is withdrawn. The votes of a lost round
 * are taken back in the background, even after `unavailable` was reported. A node reads that withdrawal before any later
 * request of this provider.
 */
export class RedLockAttempt implements Attempt {
  readonly #quorum: Quorum;
  readonly #request: GrantRequest;
  readonly #listener: AttemptListener;
  readonly #lock: NodeLock;
  readonly #leaseMs: Millis;
  /** Resolves when no vote is asked for any more. Never rejects. */
  readonly #asked: Promise<void>;
  /** Resolves when the withdrawals of all lost rounds have ended. */
  #takenBack: Promise<unknown> = Promise.resolve();
  #subscriptions: readonly Subscription[] = [];
  #grant: RedLockGrant | undefined;
  #roundTrips = 0;
  #withdrawn = false;
  /** Whether a node has reported since the last round that its lock is free. */
  #freed = false;
  #onFreed: () => void = () => {};
  /** Ends the pause that is under way. */
  #endPause: () => void = () => {};

  constructor(quorum: Quorum, request: GrantRequest, listener: AttemptListener) {
    this.#quorum = quorum;
    this.#request = request;
    this.#listener = listener;
    this.#lock = new NodeLock(request.name, quorum.settings);
    this.#leaseMs = Math.max(1, Math.floor(request.leaseMs));
    checkLease(`leaseMs of "${request.name}"`, this.#leaseMs, quorum.settings, request.name);
    quorum.listen();
    this.#asked = this.#ask();
  }

  async withdraw(): Promise<void> {
    this.#withdrawn = true;
    this.#endPause();
    await this.#asked;
    await this.#grant?.release();
    await this.#takenBack;
  }

  async #ask(): Promise<void> {
    try {
      for (let defeats = 1; ; defeats++) {
        const defeat = await this.#vote(defeats > 1);
        if (defeat === null || this.#withdrawn) return;
        const { name, mayWait } = this.#request;
        const { majority } = this.#quorum;
        const silence = defeat.contested
          ? undefined
          : tooFewError("no majority could be asked for", name, majority, defeat.votes);
        if (silence !== undefined && (!mayWait || defeat.quarantineLeftMs === null))
          return this.#listener.failed(silence);
        if (!mayWait) return this.#listener.unavailable();
        this.#listener.waiting(silence);
        if (defeat.holderLeftMs !== null) this.#listen();
        await this.#sleep(defeat, defeats);
        if (this.#withdrawn) return;
      }
    } catch (error) {
      if (!this.#withdrawn) this.#listener.failed(error);
    } finally {
      for (const subscription of this.#subscriptions) subscription.end();
    }
  }

  /** Holds one round of votes. `null`: it was won, and the listener has the grant. */
  async #vote(contended: boolean): Promise<Defeat | null> {
    const { nodes, majority, settings } = this.#quorum;
    const owner = this.#quorum.owners.fresh();
    /** The nodes that may have a vote for this owner. */
    const asked = new Set<VotingNode>();
    /** A late vote belongs to the owner of its own round, and counts for the grant of no other round. */
    let grant: RedLockGrant | undefined;
    /** Whether the votes of this round were taken back. */
    let over = false;
    this.#roundTrips++;
    this.#freed = false;
    const voters = (ballots: readonly VoteBallot[]) => votersOf(ballots, settings.maxLeaseMs);
    let counted: readonly VoteBallot[] = [];
    const round = await holdRound<Vote>(this.#quorum, {
      nodes,
      ask: async (node) => {
        asked.add(node);
        try {
          return await this.#lock.vote(node, owner, this.#leaseMs, () => !over && grant?.ended !== true);
        } catch (error) {
          if (error instanceof NotSentError) asked.delete(node);
          throw error;
        }
      },
      decided: (ballots) => {
        const won = voters(ballots).length;
        const lost = nodes.length - (ballots.length - won) < majority;
        // The round is also over when it is lost because of other clients, as a majority of answers shows, and not because
        // nodes are silent.
        return won >= majority || (lost && spokenOf(ballots) >= majority);
      },
      late: (ballot) => {
        // Judged together with the other ballots, whose nodes may know of longer leases than this node does.
        if (voters([...counted, ballot]).includes(ballot.node)) grant?.addVote(ballot.node);
      },
    });
    counted = round.ballots;
    try {
      this.#quorum.checkNodes(
        new Map(repliesOf(round.ballots).map(([node, { reply }]) => [node, reply.runId])),
      );
      const votes = voters(counted);
      if (votes.length >= majority && !this.#withdrawn)
        grant = await this.#win(owner, asked, round, votes, contended);
      this.#grant = grant;
      return grant === undefined ? defeatOf(round, this.#request.name, majority) : null;
    } finally {
      over = grant === undefined;
      if (over) this.#takeBack(owner, [...asked]);
    }
  }

  /**
   * A majority voted for this owner. The result is a grant, unless that takes too long or the attempt is withdrawn
   * meanwhile.
   */
  async #win(
    owner: string,
    asked: Set<VotingNode>,
    round: Round<Vote>,
    votes: readonly VotingNode[],
    contended: boolean,
  ): Promise<RedLockGrant | undefined> {
    const { runtime, majority, settings } = this.#quorum;
    const { name, revocable } = this.#request;
    const { fencing } = settings;
    const { startedMs } = round;
    const endMs = endOf(startedMs, this.#leaseMs);
    if (revocable) await this.#quorum.heard(settings.nodeTimeoutMs);
    let token: FencingToken | null = null;
    let standing = votes;
    // After a withdrawal no token is drawn, because that could take as long as the lease.
    if (fencing !== "none" && !this.#withdrawn) {
      const writesBack = fencing === "write-back";
      token = writesBack ? highestToken(round) : await this.#draw(fencing, endMs);
      standing = await this.#standing(owner, votes, writesBack ? token : null);
    }
    const leftMs = endMs - runtime.nowMs();
    if (leftMs <= 0 || leftMs < settings.minValidityMs) {
      const message = `the majority for "${name}" came too late: ${Math.floor(leftMs)} ms of the lease of ${this.#leaseMs} ms were left, and minValidityMs is ${settings.minValidityMs}`;
      throw quorumError(message, name, majority, defeatOf(round, name, majority).votes);
    }
    this.#quorum.overtake(this.#lock.key);
    if (this.#withdrawn) return undefined;
    return new RedLockGrant(this.#quorum, this.#listener, {
      lock: this.#lock,
      owner,
      asked,
      token,
      leaseMs: this.#leaseMs,
      startedMs,
      votes: standing,
      roundTrips: this.#roundTrips,
      contended,
      revocable,
    });
  }

  /**
   * Takes back the votes for an owner. Only the withdrawal of the attempt waits for it, and no longer than for a round. A
   * caller that is about to get the error that nodes are silent must not wait until the leases on these nodes end.
   */
  #takeBack(owner: string, nodes: readonly VotingNode[]): void {
    const before = this.#takenBack;
    const done = withdraw(this.#quorum, { lock: this.#lock, owner, nodes, leaseMs: this.#leaseMs });
    this.#takenBack = done.then(() => before);
  }

  /** Asks the source of fencing tokens, for no longer than the votes last. */
  async #draw(fencing: (name: string) => Promise<FencingToken>, endMs: Millis): Promise<FencingToken> {
    const { runtime } = this.#quorum;
    const { name } = this.#request;
    const details = { backend: "redlock", lockName: name } as const;
    // A token is not waited for after this time, nor after the attempt is withdrawn.
    const limit = pause(runtime, endMs - runtime.nowMs(), { ref: true });
    this.#endPause = limit.end;
    const late = limit.over.then(() => {
      throw new BackendError("no answer within the lease", details);
    });
    let token: FencingToken;
    try {
      token = await Promise.race([late, Promise.resolve(name).then(fencing)]);
    } catch (cause) {
      // Core takes an error of other code as final too: it is not known whether it passes, and each new try takes a majority.
      const why = { ...details, cause, retryable: cause instanceof HoldfastError && cause.retryable };
      throw new BackendError(`no fencing token for "${name}" from its source: ${messageOf(cause)}`, why);
    } finally {
      limit.end();
    }
    if (typeof token === "bigint" && token >= 0n) return token;
    throw new InvalidArgumentError(
      `redLocks: fencing must give a bigint, 0 or more; got ${String(token)} for "${name}"`,
      details,
    );
  }

  /**
   * Asks for the votes that still stand once the token is known. Before there is a grant, a message about a vote that ended
   * reaches no holder. A node that does not answer keeps its vote for as long as it promised. `writtenBack` is written to a
   * majority. The next majority shares a node with this one, and that node then counts on from `writtenBack`.
   */
  async #standing(
    owner: string,
    votes: readonly VotingNode[],
    writtenBack: FencingToken | null,
  ): Promise<readonly VotingNode[]> {
    const { majority } = this.#quorum;
    const { name } = this.#request;
    const extended = (ballots: readonly Ballot<Extension>[]) =>
      repliesOf(ballots).filter(([, { reply }]) => reply.status === "extended").length;
    this.#roundTrips++;
    const round = await holdRound<Extension>(this.#quorum, {
      nodes: votes,
      ask: (node) => this.#lock.extend(node, owner, 0, writtenBack ?? 0n),
      decided: (ballots) => extended(ballots) >= majority,
    });
    const ended = repliesOf(round.ballots).filter(([, { reply }]) => reply.status !== "extended");
    const standing = votes.filter((node) => !ended.some(([other]) => other === node));
    const count = writtenBack === null ? standing.length : extended(round.ballots);
    if (count >= majority) return standing;
    const message = `${count} of ${votes.length} nodes still had their vote for "${name}" when its token was known, and ${majority} are needed`;
    throw quorumError(message, name, majority, extensionVotes(round));
  }

  /**
   * Listens for the messages of the nodes that their lock is free. The other nodes, and the capped sleep, make up for a node
   * without messages.
   */
  #listen(): void {
    if (this.#subscriptions.length > 0) return;
    this.#subscriptions = this.#quorum.nodes.map((node) =>
      node.listen(this.#lock.channel, "redisson", () => {
        this.#freed = true;
        this.#onFreed();
      }),
    );
  }

  /** The pauses are spread, and longer than a round, so that clients that split the votes do not split them again. */
  async #sleep(defeat: Defeat, defeats: number): Promise<void> {
    const { runtime } = this.#quorum;
    const roundMs = Math.max(5, 2 * defeat.tookMs);
    if (defeat.holderLeftMs !== null) {
      const mostMs = cappedSleepMs * (0.75 + 0.25 * runtime.random());
      await this.#pause(Math.min(mostMs, defeat.holderLeftMs + 2), { untilFreed: true });
      if (this.#freed && !this.#withdrawn) this.#listener.notified();
      // The message of the first node arrives before the lock is free on the other nodes.
      await this.#pause(roundMs * runtime.random());
    } else if (!defeat.contested && defeat.quarantineLeftMs !== null) {
      await this.#pause(Math.min(cappedSleepMs, defeat.quarantineLeftMs) + roundMs * runtime.random());
    } else {
      const rangeMs = Math.min(longestPauseMs, roundMs * 2 ** Math.min(defeats, 5));
      await this.#pause(roundMs + rangeMs * runtime.random());
    }
  }

  async #pause(forMs: Millis, { untilFreed = false } = {}): Promise<void> {
    if (this.#withdrawn || (untilFreed && this.#freed)) return;
    const { over, end } = pause(this.#quorum.runtime, forMs);
    this.#endPause = end;
    if (untilFreed) this.#onFreed = end;
    await over;
  }
}

/** The highest token of all votes for this round's owner. */
function highestToken({ ballots }: Round<Vote>): FencingToken {
  let highest = 0n;
  for (const [, { reply }] of repliesOf(ballots))
    if (reply.status === "granted" && reply.token > highest) highest = reply.token;
  return highest;
}
