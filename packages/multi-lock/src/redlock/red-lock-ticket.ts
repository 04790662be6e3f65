import {
  BackendError,
  type FencingToken,
  type Grant,
  type GrantRequest,
  InvalidArgumentError,
  type Millis,
  QuorumError,
  type Ticket,
  type TicketProgress,
} from "@holdfast/core";
import { NotSentError, type Subscription } from "@holdfast/redis-recipes/internal";
import { holdRound, repliesOf, votesOf } from "./ballot.js";
import type { RedLockDesk } from "./desk.js";
import type { NodeLock } from "./node-locks.js";
import { endOf, RedLockGrant } from "./red-lock-grant.js";
import {
  type Defeat,
  defeatOf,
  noQuorum,
  spokenOf,
  type Vote,
  type VoteBallot,
  votersOf,
} from "./vote-count.js";
import type { VotingNode } from "./voting-node.js";
import type { Withdrawal } from "./withdrawal.js";

/** Longest sleep without a message, while somebody has the majority. */
const cappedSleepMs: Millis = 1_000;
/** Longest pause between two rounds that nobody won. */
const longestPauseMs: Millis = 500;

/** Asks for a majority, and asks again, each time as a new owner, until it has one or is not wanted any more. */
export class RedLockTicket implements Ticket {
  readonly granted: Promise<Grant | null>;
  readonly #desk: RedLockDesk;
  readonly #request: GrantRequest;
  readonly #progress: TicketProgress;
  readonly #lock: NodeLock;
  readonly #leaseMs: Millis;
  readonly #settled: Promise<unknown>;
  readonly #withdrawals = new Set<Withdrawal>();
  #subscriptions: readonly Subscription[] = [];
  #grant: RedLockGrant | undefined;
  #over = false;
  #woken = false;
  #wake: () => void = () => {};
  #roundTrips = 0;
  #cancelled: Promise<void> | undefined;

  constructor(desk: RedLockDesk, request: GrantRequest, progress: TicketProgress) {
    this.#desk = desk;
    this.#request = request;
    this.#progress = progress;
    this.#lock = desk.lock(request.name);
    this.#leaseMs = Math.max(1, Math.floor(request.leaseMs));
    this.granted = this.#run();
    this.#settled = this.granted.catch(() => {
      // Whoever asked hears it from `granted`.
    });
  }

  cancel(): Promise<void> {
    this.#cancelled ??= this.#cancel();
    return this.#cancelled;
  }

  async #cancel(): Promise<void> {
    this.#over = true;
    this.#wake();
    await this.#settled;
    await this.#grant?.abandon();
    await Promise.all([...this.#withdrawals].map(({ done }) => done));
  }

  async #run(): Promise<Grant | null> {
    const { maxLeaseMs } = this.#desk.settings;
    const { name, mayWait } = this.#request;
    this.#desk.ownChannel.listen();
    if (this.#leaseMs > maxLeaseMs) {
      throw new InvalidArgumentError(
        `leaseMs of "${name}" is ${this.#leaseMs}, and maxLeaseMs of redLocks is ${maxLeaseMs}: nodes that come back sit out no more than that`,
        { backend: "redlock", lockName: name },
      );
    }
    try {
      for (let defeats = 1; ; defeats++) {
        const { grant, defeat, tookMs } = await this.#hold(defeats > 1);
        if (grant !== null) return grant;
        if (!defeat.contested && defeat.quarantineLeftMs === null) {
          throw noQuorum(name, this.#desk.majority, defeat.votes);
        }
        if (!mayWait || this.#over) {
          if (defeat.contested) return null;
          throw noQuorum(name, this.#desk.majority, defeat.votes);
        }
        this.#progress.waiting(
          defeat.contested ? undefined : noQuorum(name, this.#desk.majority, defeat.votes),
        );
        if (defeat.holderLeftMs !== null) this.#listen();
        await this.#sleep(defeat, tookMs, defeats);
        if (this.#over) return null;
      }
    } finally {
      for (const subscription of this.#subscriptions) subscription.end();
    }
  }

  /** One round of votes. */
  async #hold(contended: boolean): Promise<{ grant: Grant | null; defeat: Defeat; tookMs: Millis }> {
    const { nodes, majority, runtime, settings } = this.#desk;
    const owner = this.#desk.freshOwner();
    /** Where a vote for this owner may be. */
    const asked = new Set<VotingNode>();
    let grant: RedLockGrant | undefined;
    this.#roundTrips++;
    this.#woken = false;
    const voters = (ballots: readonly VoteBallot[]) => votersOf(ballots, settings.maxLeaseMs);
    let counted: readonly VoteBallot[] = [];
    const round = await holdRound<VotingNode, Vote>(runtime, {
      nodes,
      ask: async (node) => {
        asked.add(node);
        try {
          return await this.#lock.vote(node, owner, this.#leaseMs);
        } catch (error) {
          if (error instanceof NotSentError) asked.delete(node);
          throw error;
        }
      },
      decided: (ballots) => {
        const won = voters(ballots).length;
        const lost = nodes.length - (ballots.length - won) < majority;
        // In vain, and known to be so because somebody is in the way, not because nodes are silent.
        return won >= majority || (lost && spokenOf(ballots) >= majority);
      },
      timeoutMs: settings.nodeTimeoutMs,
      late: (ballot) => {
        // Judged beside the others, which may know of longer leases than it does.
        if (voters([...counted, ballot]).includes(ballot.node)) grant?.addVote(ballot.node);
      },
    });
    counted = round.ballots;
    const votes = voters(counted);
    try {
      this.#desk.checkNodes(new Map(repliesOf(round).map(([node, { reply }]) => [node, reply.runId])));
      if (votes.length >= majority && !this.#over) {
        const endMs = endOf(round.startedMs, this.#leaseMs);
        const token = await this.#token(owner, round.ballots, endMs);
        if (this.#request.revocable) await this.#desk.ownChannel.heard(settings.nodeTimeoutMs);
        const leftMs = endMs - runtime.nowMs();
        if (leftMs <= 0 || leftMs < settings.minValidityMs) throw this.#tooSlow(leftMs, round);
        this.#desk.overtake(this.#lock.key);
        grant = new RedLockGrant(this.#desk, {
          lock: this.#lock,
          owner,
          token,
          leaseMs: this.#leaseMs,
          startedMs: round.startedMs,
          votes,
          roundTrips: this.#roundTrips,
          contended,
          revocable: this.#request.revocable,
        });
        this.#grant = grant;
      }
      const defeat = defeatOf(round, this.#request.name, majority);
      if (grant === undefined) this.#withdraw(owner, asked);
      return { grant: grant ?? null, defeat, tookMs: round.tookMs };
    } catch (error) {
      this.#withdraw(owner, asked);
      throw error;
    }
  }

  /**
   * Nobody waits for it but who cancels, and no longer than for a round: what is asked of a node next is read behind it, and a
   * caller who is to be told that nodes are silent must not wait for their leases to end.
   */
  #withdraw(owner: string, asked: ReadonlySet<VotingNode>): void {
    const nodes = [...asked];
    const withdrawal = this.#desk.withdraw(this.#lock, owner, nodes, this.#leaseMs, nodes.length);
    this.#withdrawals.add(withdrawal);
    void withdrawal.done.then(() => this.#withdrawals.delete(withdrawal));
  }

  async #token(owner: string, ballots: readonly VoteBallot[], endMs: Millis): Promise<FencingToken | null> {
    const { fencing } = this.#desk.settings;
    const { name } = this.#request;
    if (fencing === "none") return null;
    if (fencing === "write-back") return await this.#writeBack(owner, ballots);
    let token: FencingToken;
    try {
      token = await this.#inTime(async () => fencing(name), endMs);
    } catch (cause) {
      throw new BackendError(`the source of fencing tokens gave none for "${name}"`, {
        cause,
        backend: "redlock",
        lockName: name,
      });
    }
    if (typeof token === "bigint" && token >= 0n) return token;
    throw new InvalidArgumentError(
      `redLocks: fencing must give a bigint, 0 or more; got ${String(token)} for "${name}"`,
      { backend: "redlock", lockName: name },
    );
  }

  /** What is not there when the votes end, or when nobody wants it any more, is not waited for. */
  #inTime<T>(ask: () => Promise<T>, endMs: Millis): Promise<T> {
    const { runtime } = this.#desk;
    return new Promise((resolve, reject) => {
      const done = (settle: () => void): void => {
        cancel();
        this.#wake = () => {};
        settle();
      };
      const stop = (why: string): void => done(() => reject(new Error(why)));
      const late = (): void => stop("no answer within the lease");
      const cancel = runtime.setTimer(endMs - runtime.nowMs(), late, { ref: true });
      this.#wake = () => {
        if (this.#over) stop("the request was cancelled");
      };
      ask().then(
        (value) => done(() => resolve(value)),
        (error: unknown) => done(() => reject(error)),
      );
    });
  }

  /** The next majority shares a node with this one, which then counts on from here. */
  async #writeBack(owner: string, ballots: readonly VoteBallot[]): Promise<FencingToken> {
    const { runtime, majority, settings } = this.#desk;
    const tokens = ballots.flatMap(({ node, outcome }) =>
      "reply" in outcome && outcome.reply.reply.status === "granted"
        ? [{ node, token: outcome.reply.reply.token }]
        : [],
    );
    const [highest = 0n] = tokens.map(({ token }) => token).sort((one, other) => (one > other ? -1 : 1));
    this.#roundTrips++;
    const round = await holdRound(runtime, {
      nodes: tokens.map(({ node }) => node),
      ask: (node) => this.#lock.extend(node, owner, 0, highest),
      decided: (answers) => answers.filter(({ outcome }) => "reply" in outcome).length >= majority,
      timeoutMs: settings.nodeTimeoutMs,
      late: () => {},
    });
    const written = repliesOf(round).filter(([, { reply }]) => reply.status === "extended");
    if (written.length >= majority) return highest;
    const votes = votesOf(round, ({ reply }) => ({ vote: reply.status === "extended" ? "for" : "against" }));
    throw new QuorumError(
      `the token of "${this.#request.name}" was written to ${written.length} nodes, and ${majority} are needed`,
      { backend: "redlock", lockName: this.#request.name, needed: majority, votes },
    );
  }

  #tooSlow(leftMs: Millis, round: Parameters<typeof defeatOf>[0]): QuorumError {
    const { minValidityMs } = this.#desk.settings;
    const { votes } = defeatOf(round, this.#request.name, this.#desk.majority);
    return new QuorumError(
      `the majority for "${this.#request.name}" came too late: ${Math.floor(leftMs)} ms of the lease of ${this.#leaseMs} ms were left, and minValidityMs is ${minValidityMs}`,
      { backend: "redlock", lockName: this.#request.name, needed: this.#desk.majority, votes },
    );
  }

  /** Each node says when its lock is free. */
  #listen(): void {
    if (this.#subscriptions.length > 0) return;
    this.#subscriptions = this.#desk.nodes.map(({ line }) => {
      const subscription = line.subscribe(this.#lock.channel, "redisson", () => {
        this.#woken = true;
        this.#wake();
      });
      // A node without a subscription is made up for by the others, and by the capped sleep.
      subscription.ready.catch(() => {});
      return subscription;
    });
  }

  /** Spread, and longer than a round, so that those who split the votes do not do it again. */
  async #sleep(defeat: Defeat, tookMs: Millis, defeats: number): Promise<void> {
    const { runtime } = this.#desk;
    const roundMs = Math.max(5, 2 * tookMs);
    if (defeat.holderLeftMs !== null) {
      const mostMs = cappedSleepMs * (0.75 + 0.25 * runtime.random());
      await this.#pause(Math.min(mostMs, defeat.holderLeftMs + 2), true);
      if (this.#woken && !this.#over) this.#progress.notified();
      // The message of the first node comes before the others are free.
      await this.#pause(roundMs * runtime.random(), false);
    } else if (!defeat.contested && defeat.quarantineLeftMs !== null) {
      await this.#pause(Math.min(cappedSleepMs, defeat.quarantineLeftMs) + roundMs * runtime.random(), false);
    } else {
      const rangeMs = Math.min(longestPauseMs, roundMs * 2 ** Math.min(defeats, 5));
      await this.#pause(roundMs + rangeMs * runtime.random(), false);
    }
  }

  #pause(forMs: Millis, untilWoken: boolean): Promise<void> {
    if (this.#over || (untilWoken && this.#woken)) return Promise.resolve();
    return new Promise((resolve) => {
      const done = (): void => {
        cancel();
        this.#wake = () => {};
        resolve();
      };
      const cancel = this.#desk.runtime.setTimer(Math.ceil(forMs), done);
      this.#wake = () => {
        if (untilWoken || this.#over) done();
      };
    });
  }
}
