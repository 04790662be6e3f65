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
  /** The nodes that may have a vote of the owner. */
  readonly nodes: readonly VotingNode[];
  /** The longest lease that was voted for. */
  readonly leaseMs: Millis;
  /** The number of nodes that are waited for even beyond one round. Default 0. */
  readonly needed?: number;
}

const pauseMs: Millis = 50;

/**
 * Sends an owner's last request to each node, and repeats it until it is answered or the owner's lease is over. Resolves
 * after one round, and not before `needed` nodes have answered, with the nodes that had no vote of the owner. The other
 * requests go on in the background. Never rejects.
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

/** Whether the node answered that it had no vote of this owner. `endMs`: from then on it cannot have one any more. */
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
      // A request that was sent and not answered may have ended the vote. After a permanent refusal, the vote ends with its
      // lease.
      if (error instanceof OutcomeUnknownError) repeated = true;
      if (!(error instanceof BackendError && error.retryable)) return false;
    }
    const leftMs = endMs - runtime.nowMs();
    if (leftMs <= 0) return false;
    // Waits until the node is connected again. If it is not in time, that changes nothing here.
    if (!node.connected) await node.line.whenConnected({ waitMs: leftMs }).catch(() => {});
    await pause(runtime, pauseMs).over;
  }
  return false;
}
