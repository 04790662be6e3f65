import { InvalidArgumentError, type Millis } from "@holdfast/core";
import type { VotingNode } from "./voting-node.js";

/**
 * Throws when two of the nodes are one server, whose one memory would vote twice. `runIds`: the run ids that nodes have just
 * answered.
 */
export function checkDistinct(nodes: readonly VotingNode[], runIds: ReadonlyMap<VotingNode, string>): void {
  const known = new Map<string, VotingNode>();
  for (const node of nodes) {
    const runId = runIds.get(node) ?? node.runId;
    if (runId === null) continue;
    const other = known.get(runId);
    if (other !== undefined) {
      throw new InvalidArgumentError(
        `redLocks: nodes ${other.name} and ${node.name} are one server (run id ${runId}); each needs a server of its own`,
        { backend: "redlock" },
      );
    }
    known.set(runId, node);
  }
}

/**
 * The pairs of nodes whose clocks are certainly further apart than a lease allows for, as far as can be measured from
 * outside.
 */
export function clocksApart(
  nodes: readonly VotingNode[],
  budgetMs: Millis,
): readonly { readonly one: VotingNode; readonly other: VotingNode; readonly apartMs: Millis }[] {
  return nodes.flatMap((one, index) =>
    nodes.slice(index + 1).flatMap((other) => {
      if (one.offset === null || other.offset === null) return [];
      const apartMs = Math.abs(one.offset.ms - other.offset.ms);
      const surelyMs = apartMs - one.offset.uncertainMs - other.offset.uncertainMs;
      return surelyMs > budgetMs ? [{ one, other, apartMs }] : [];
    }),
  );
}
