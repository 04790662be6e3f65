import { type Millis, type NodeVote, QuorumError, type Runtime } from "@holdfast/core";

/** What one node answered in one round. */
export interface Ballot<N, R> {
  readonly node: N;
  readonly tookMs: Millis;
  readonly outcome: { readonly reply: R } | { readonly error: unknown };
}

export interface Round<N, R> {
  /** Those that had come when it was decided, in the order in which they came. */
  readonly ballots: readonly Ballot<N, R>[];
  /** Not heard of by then. */
  readonly silent: readonly N[];
  readonly startedMs: Millis;
  readonly tookMs: Millis;
}

export interface RoundSpec<N, R> {
  readonly nodes: readonly N[];
  /** Asked of all nodes at once. */
  ask(node: N): Promise<R>;
  /** Whether the answers so far leave nothing to wait for. */
  decided(ballots: readonly Ballot<N, R>[]): boolean;
  /** Nodes that have not answered by then are not waited for. */
  timeoutMs: Millis;
  /** Of an answer after the decision. */
  late(ballot: Ballot<N, R>): void;
}

/** Asks all nodes in parallel, and waits until the answers decide, or no longer than for the slowest that is allowed. Never rejects. */
export function holdRound<N, R>(runtime: Runtime, spec: RoundSpec<N, R>): Promise<Round<N, R>> {
  const startedMs = runtime.nowMs();
  return new Promise((resolve) => {
    const ballots: Ballot<N, R>[] = [];
    const silent = new Set(spec.nodes);
    let over = false;
    const end = (): void => {
      if (over) return;
      over = true;
      cancel();
      resolve({ ballots, silent: [...silent], startedMs, tookMs: runtime.nowMs() - startedMs });
    };
    const cancel = runtime.setTimer(spec.timeoutMs, end, { ref: true });
    const cast = (node: N, outcome: Ballot<N, R>["outcome"]): void => {
      const ballot = { node, outcome, tookMs: runtime.nowMs() - startedMs };
      if (over) {
        spec.late(ballot);
        return;
      }
      silent.delete(node);
      ballots.push(ballot);
      if (silent.size === 0 || spec.decided(ballots)) end();
    };
    for (const node of spec.nodes) {
      spec.ask(node).then(
        (reply) => cast(node, { reply }),
        (error: unknown) => cast(node, { error }),
      );
    }
  });
}

export function repliesOf<N, R>(round: Round<N, R>): readonly (readonly [N, R])[] {
  return round.ballots.flatMap(({ node, outcome }) =>
    "reply" in outcome ? [[node, outcome.reply] as const] : [],
  );
}

/** The votes of a round as errors carry them. */
export function votesOf<N extends { readonly name: string }, R>(
  round: Round<N, R>,
  judge: (reply: R) => Pick<NodeVote, "vote" | "error">,
): readonly NodeVote[] {
  return [
    ...round.ballots.map(({ node, outcome, tookMs }): NodeVote => {
      if ("error" in outcome) return { node: node.name, vote: "error", tookMs, error: outcome.error };
      return { node: node.name, tookMs, ...judge(outcome.reply) };
    }),
    ...round.silent.map(({ name }): NodeVote => ({ node: name, vote: "late", tookMs: round.tookMs })),
  ];
}

/** Too few nodes could be asked to know anything. `lockName`: `undefined` for what concerns no lock. */
export function quorumError(
  what: string,
  lockName: string | undefined,
  needed: number,
  votes: readonly NodeVote[],
): QuorumError {
  const counted = (["for", "against", "error", "late"] as const)
    .map((vote) => [vote, votes.filter((each) => each.vote === vote)] as const)
    .filter(([, found]) => found.length > 0)
    .map(([vote, found]) => `${vote}: ${found.map(nodeText).join(", ")}`);
  return new QuorumError(
    `${lockName === undefined ? what : `${what} "${lockName}"`}: ${needed} of ${votes.length} nodes are needed (${counted.join("; ")})`,
    {
      backend: "redlock",
      lockName,
      needed,
      votes,
      cause: votes.find(({ error }) => error !== undefined)?.error,
    },
  );
}

function nodeText({ node, error }: NodeVote): string {
  return error instanceof Error ? `${node} (${error.message})` : node;
}
