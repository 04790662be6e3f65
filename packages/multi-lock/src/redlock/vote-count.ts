import { LayoutConflictError, type Millis, type NodeVote } from "@holdfast/core";
import type { Answer, ExtendAnswer, VoteAnswer } from "@holdfast/redis-recipes/internal";
import { type Ballot, type Round, repliesOf, votesOf } from "./ballot.js";
import type { VotingNode } from "./voting-node.js";

export type Vote = Answer<VoteAnswer>;
export type Extension = Answer<ExtendAnswer>;
export type VoteBallot = Ballot<Vote>;

/** The nodes whose votes count, of those that voted for us. */
export function votersOf(ballots: readonly VoteBallot[], maxLeaseMs: Millis): readonly VotingNode[] {
  const replies = repliesOf(ballots);
  // A node that came back empty knows only the leases that clients have asked of it since. The other nodes may remember
  // longer ones.
  const longestMs = Math.max(maxLeaseMs, ...replies.map(([, { reply }]) => reply.longestLeaseMs));
  return replies.flatMap(([node, { reply }]) =>
    reply.status === "granted" && (reply.ageMs < 0 || reply.ageMs >= longestMs) ? [node] : [],
  );
}

/** The number of nodes that answered which client has the lock. */
export function spokenOf(ballots: readonly VoteBallot[]): number {
  return repliesOf(ballots).filter(([, { reply }]) => reply.status === "granted" || reply.status === "busy")
    .length;
}

/** Why a round gave no majority, and what that means for the next round. */
export interface Defeat {
  /**
   * What is left of the lease of a client that has a majority; `null` when no client has one. Until that client releases, or
   * its lease ends, no other client can have a majority.
   */
  readonly holderLeftMs: Millis | null;
  /** The time until the first node that sits out may vote again; `null` when no node sits out. */
  readonly quarantineLeftMs: Millis | null;
  /** Whether a majority of the nodes answered which client has the lock, so that other clients are in the way. */
  readonly contested: boolean;
  readonly votes: readonly NodeVote[];
  /** The time from the first request of the round to its end. */
  readonly tookMs: Millis;
}

/** Throws `LayoutConflictError` where something else under the name, on too many nodes, leaves no majority that could vote. */
export function defeatOf(round: Round<Vote>, lockName: string, majority: number): Defeat {
  const replies = repliesOf(round.ballots);
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
  const busy = replies.flatMap(([, { reply }]) => (reply.status === "busy" ? [reply] : []));
  const named = busy.map(({ holder, pttlMs }) => ({ owner: holder, pttlMs }));
  const leading = ownerOfMajority(named, majority);
  const quarantined = replies.flatMap(([, { reply }]) =>
    reply.status === "quarantined" ? [reply.longestLeaseMs - reply.ageMs] : [],
  );
  return {
    holderLeftMs: leading === undefined ? null : Math.min(...leading.leftMs.filter((left) => left >= 0)),
    quarantineLeftMs: quarantined.length === 0 ? null : Math.min(...quarantined),
    contested: spokenOf(round.ballots) >= majority,
    votes: votesOf(round, ({ reply }) => judge(reply)),
    tookMs: round.tookMs,
  };
}

/** The votes of a round in which nodes were asked to keep a vote that they have given. */
export function extensionVotes(round: Round<Extension>): readonly NodeVote[] {
  return votesOf(round, ({ reply }) => ({ vote: reply.status === "extended" ? "for" : "against" }));
}

/** The owner that a majority of the nodes names, with what is left of its lease on each of them. */
export function ownerOfMajority(
  named: readonly { readonly owner: string; readonly pttlMs: Millis }[],
  majority: number,
): { readonly owner: string; readonly leftMs: readonly Millis[] } | undefined {
  for (const { owner } of named) {
    const leftMs = named.flatMap((each) => (each.owner === owner ? [each.pttlMs] : []));
    if (leftMs.length >= majority) return { owner, leftMs };
  }
  return undefined;
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
      return {
        vote: "error",
        error: new LayoutConflictError(`something else is there: ${reply.found}`, { backend: "redlock" }),
      };
  }
}
