import { BackendError, type Millis, type Runtime } from "@holdfast/core";
import { pause } from "@holdfast/core/internal";
import { marginMs, OutcomeUnknownError } from "@holdfast/redis-recipes/internal";
import { holdRound, repliesOf } from "./ballot.js";
import type { NodeLock } from "./node-locks.js";
import type { Quorum } from "./quorum.js";
import type { VotingNode } from "./voting-node.js";

export interface WithdrawalSpec {
  readonly lock: NodeLock;
  readonly owner: string;
  /** Where something of the owner may be. */
  readonly nodes: readonly VotingNode[];
  /** The longest lease that was voted for. */
  readonly leaseMs: Millis;
  /** So many nodes are waited for beyond one round too. Default 0. */
  readonly needed?: number;
}

const pauseMs: Millis = 50;

/**
 * An owner's last request to each node, repeated until it is answered or its lease is over. Resolves when nothing is left that could stand
 * in another client's way, to the nodes that had no vote of the owner; the rest goes on by itself. Never rejects.
 */
export async function withdraw(
  quorum: Pick<Quorum, "runtime" | "settings">,
  { lock, owner, nodes, leaseMs, needed = 0 }: WithdrawalSpec,
): Promise<ReadonlySet<VotingNode>> {
  const { runtime } = quorum;
  const endMs = runtime.nowMs() + leaseMs + 2 * marginMs(leaseMs);
  const round = await holdRound(quorum, {
    nodes,
    ask: (node) => endVote(runtime, node, () => lock.release(node, owner), endMs),
    needed,
  });
  return new Set(repliesOf(round.ballots).flatMap(([node, gone]) => (gone ? [node] : [])));
}

/** Whether the node said that it had no vote of this owner. `endMs`: then it cannot have one any more. */
async function endVote(
  runtime: Runtime,
  node: VotingNode,
  release: () => ReturnType<NodeLock["release"]>,
  endMs: Millis,
): Promise<boolean> {
  let repeated = false;
  while (!node.line.closed) {
    try {
      const { reply } = await release();
      return reply.status === "gone" && !repeated;
    } catch (error) {
      // A request that was sent and not answered may have ended the vote. Refusals that do not pass leave it to its lease.
      if (error instanceof OutcomeUnknownError) repeated = true;
      if (!(error instanceof BackendError && error.retryable)) return false;
    }
    const leftMs = endMs - runtime.nowMs();
    if (leftMs <= 0) return false;
    // The line says when the node is back. That it is not back in time changes nothing here.
    if (!node.connected) await node.line.whenConnected({ waitMs: leftMs }).catch(() => {});
    await pause(runtime, pauseMs).over;
  }
  return false;
}
