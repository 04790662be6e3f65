import { HoldfastError, type Millis, type NodeVote, QuorumError, type Runtime } from "@holdfast/core";
import type { VotingNode } from "./voting-node.js";

/** What one node answered in one round. */
export interface Ballot<R> {
  readonly node: VotingNode;
  readonly tookMs: Millis;
  readonly outcome: { readonly reply: R } | { readonly error: unknown };
}

/** The answers of a round as they were when it ended. */
export interface Round<R> {
  /** The answers in the order in which they arrived. */
  readonly ballots: readonly Ballot<R>[];
  /** The nodes that had not answered by then. */
  readonly silent: readonly VotingNode[];
  readonly startedMs: Millis;
  readonly tookMs: Millis;
}

export interface RoundSpec<R> {
  readonly nodes: readonly VotingNode[];
  /** Sends the request to one node. Called for all nodes at once. */
  ask(node: VotingNode): Promise<R>;
  /** Whether the answers so far decide the round. Default: only the answers of all nodes do. */
  decided?(ballots: readonly Ballot<R>[]): boolean;
  /** The number of answers that are waited for even beyond `nodeTimeoutMs`. Default 0. */
  readonly needed?: number;
  /** Called with each answer that arrives after the end of the round. */
  late?(ballot: Ballot<R>): void;
}

/**
 * Asks all nodes in parallel. Ends when the answers decide, otherwise when `nodeTimeoutMs` is over and `needed` nodes have
 * answered. Never rejects.
 */
export function holdRound<R>(
  quorum: { readonly runtime: Runtime; readonly settings: { readonly nodeTimeoutMs: Millis } },
  { nodes, ask, decided, needed = 0, late }: RoundSpec<R>,
): Promise<Round<R>> {
  const { runtime } = quorum;
  const startedMs = runtime.nowMs();
  return new Promise((resolve) => {
    const ballots: Ballot<R>[] = [];
    const silent = new Set(nodes);
    let timedOut = false;
    let over = false;
    const look = (): void => {
      const enough =
        silent.size === 0 || (timedOut && ballots.length >= needed) || decided?.(ballots) === true;
      if (over || !enough) return;
      over = true;
      cancel();
      resolve({ ballots, silent: [...silent], startedMs, tookMs: runtime.nowMs() - startedMs });
    };
    const timeOut = (): void => {
      timedOut = true;
      look();
    };
    const cancel = runtime.setTimer(quorum.settings.nodeTimeoutMs, timeOut, { ref: true });
    const cast = (node: VotingNode, outcome: Ballot<R>["outcome"]): void => {
      const ballot = { node, outcome, tookMs: runtime.nowMs() - startedMs };
      if (over) {
        late?.(ballot);
        return;
      }
      silent.delete(node);
      ballots.push(ballot);
      look();
    };
    for (const node of nodes) {
      ask(node).then(
        (reply) => cast(node, { reply }),
        (error: unknown) => cast(node, { error }),
      );
    }
    look();
  });
}

export function repliesOf<R>(ballots: readonly Ballot<R>[]): readonly (readonly [VotingNode, R])[] {
  return ballots.flatMap(({ node, outcome }) => ("reply" in outcome ? [[node, outcome.reply] as const] : []));
}

/**
 * The votes of a round, in the form that errors carry. `judge`: the vote that an answer is. Default: every answer is a vote
 * for the request.
 */
export function votesOf<R>(
  round: Round<R>,
  judge: (reply: R) => Pick<NodeVote, "vote" | "error"> = () => ({ vote: "for" }),
): readonly NodeVote[] {
  return [
    ...round.ballots.map(({ node, outcome, tookMs }): NodeVote => {
      if ("error" in outcome) return { node: node.name, vote: "error", tookMs, error: outcome.error };
      return { node: node.name, tookMs, ...judge(outcome.reply) };
    }),
    ...round.silent.map(({ name }): NodeVote => ({ node: name, vote: "late", tookMs: round.tookMs })),
  ];
}

/**
 * The error of a request for which too few nodes voted. `lockName`: `undefined` for a request that concerns no lock. Where a
 * majority refuses for good, such as for a missing right, asking again is in vain.
 */
export function quorumError(
  message: string,
  lockName: string | undefined,
  needed: number,
  votes: readonly NodeVote[],
): QuorumError {
  const refusals = votes.filter(({ error }) => error instanceof HoldfastError && !error.retryable);
  const retryable = refusals.length < needed;
  const cause = (retryable ? votes : refusals).find(({ error }) => error !== undefined)?.error;
  return new QuorumError(message, { backend: "redlock", lockName, needed, votes, cause, retryable });
}

/**
 * Like `quorumError`, for a round in which too few nodes answered to know anything. The message names the vote of each node.
 */
export function tooFewError(
  what: string,
  lockName: string | undefined,
  needed: number,
  votes: readonly NodeVote[],
): QuorumError {
  const counted = (["for", "against", "error", "late"] as const)
    .map((vote) => [vote, votes.filter((each) => each.vote === vote)] as const)
    .filter(([, found]) => found.length > 0)
    .map(([vote, found]) => `${vote}: ${found.map(nodeText).join(", ")}`);
  const subject = lockName === undefined ? what : `${what} "${lockName}"`;
  const message = `${subject}: ${needed} of ${votes.length} nodes are needed (${counted.join("; ")})`;
  return quorumError(message, lockName, needed, votes);
}

function nodeText({ node, error }: NodeVote): string {
  return error instanceof Error ? `${node} (${error.message})` : node;
}
