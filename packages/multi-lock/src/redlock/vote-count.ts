import { LayoutConflictError, type Millis, type NodeVote } from "@holdfast/core";
import type { Answer, VoteAnswer } from "@holdfast/redis-recipes/internal";
import { type Ballot, quorumError, type Round, repliesOf, votesOf } from "./ballot.js";
import type { VotingNode } from "./voting-node.js";

export type Vote = Answer<VoteAnswer>;
export type VoteBallot = Ballot<VotingNode, Vote>;

/** The nodes whose votes count, of those that voted for us. */
export function votersOf(ballots: readonly VoteBallot[], maxLeaseMs: Millis): readonly VotingNode[] {
  // A node that came back empty knows of no longer leases than its clients have told it since; the others remember.
  const longestMs = Math.max(
    maxLeaseMs,
    ...ballots.map(({ outcome }) => ("reply" in outcome ? outcome.reply.reply.longestLeaseMs : 0)),
  );
  return ballots.flatMap(({ node, outcome }) => {
    if ("error" in outcome) return [];
    const { reply } = outcome.reply;
    return reply.status === "granted" && (reply.ageMs < 0 || reply.ageMs >= longestMs) ? [node] : [];
  });
}

/** How many said whose the lock is. */
export function spokenOf(ballots: readonly VoteBallot[]): number {
  return ballots.filter(
    ({ outcome }) => "reply" in outcome && ["granted", "busy"].includes(outcome.reply.reply.status),
  ).length;
}

/** Why a round gave no majority, and what that says of the next. */
export interface Defeat {
  /** One client has a majority: until it lets go, or its lease ends, nobody else can have one. */
  readonly holderLeftMs: Millis | null;
  /** The first moment at which another node may vote again. */
  readonly quarantineLeftMs: Millis | null;
  /** Enough nodes said something of the lock to know that somebody is in the way. */
  readonly contested: boolean;
  readonly votes: readonly NodeVote[];
}

/** Throws `LayoutConflictError` where what is under the name on the nodes leaves no majority. */
export function defeatOf(round: Round<VotingNode, Vote>, lockName: string, majority: number): Defeat {
  const replies = repliesOf(round);
  const total = round.ballots.length + round.silent.length;
  const conflicts = replies.flatMap(([node, { reply }]) =>
    reply.status === "conflict" ? [`${node.name} (${reply.found})`] : [],
  );
  if (total - conflicts.length < majority) {
    throw new LayoutConflictError(
      `"${lockName}" is something else than a mutex on ${conflicts.join(", ")}: fewer than ${majority} of ${total} nodes can vote`,
      { backend: "redlock", lockName },
    );
  }
  const holders = new Map<string, Millis[]>();
  for (const [, { reply }] of replies) {
    if (reply.status === "busy")
      holders.set(reply.holder, [...(holders.get(reply.holder) ?? []), reply.pttlMs]);
  }
  const leading = [...holders.values()].find((left) => left.length >= majority);
  const quarantined = replies.flatMap(([, { reply }]) =>
    reply.status === "quarantined" ? [reply.longestLeaseMs - reply.ageMs] : [],
  );
  return {
    holderLeftMs: leading === undefined ? null : Math.min(...leading.filter((left) => left >= 0)),
    quarantineLeftMs: quarantined.length === 0 ? null : Math.min(...quarantined),
    contested: spokenOf(round.ballots) >= majority,
    votes: votesOf(round, ({ reply }) => judge(reply)),
  };
}

export function noQuorum(lockName: string, majority: number, votes: readonly NodeVote[]): Error {
  return quorumError("no majority could be asked for", lockName, majority, votes);
}

function judge(reply: VoteAnswer): Pick<NodeVote, "vote" | "error"> {
  switch (reply.status) {
    case "granted":
      return { vote: "for" };
    case "busy":
      return { vote: "against" };
    case "quarantined": {
      const leftMs = Math.ceil(reply.longestLeaseMs - reply.ageMs);
      return {
        vote: "error",
        error: new Error(
          `it may have forgotten votes: seen for ${Math.round(reply.ageMs)} ms as this server (run id ${reply.runId}), it votes again in ${leftMs} ms`,
        ),
      };
    }
    case "late":
      return { vote: "late" };
    case "conflict":
      return { vote: "error", error: new Error(`something else is there: ${reply.found}`) };
  }
}
