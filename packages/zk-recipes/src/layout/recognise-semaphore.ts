import type { LockMode } from "@holdfast/core";
import { joinPath } from "@holdfast/zk-protocol";
import { foreignChildren, foreignLeases, sequenceHigh, strangersBeside } from "./findings.js";
import { inQueueOrder, leaseBase } from "./queue-order.js";
import { kindOf, queueOf } from "./recognise.js";
import { describeNode } from "./recognise-participant.js";
import type { BareTree, RecognisedTree, TreeBranch, TreeHints, TreeNode, TreeParticipant } from "./tree.js";

const empty: TreeBranch = { stat: null, children: [] };

/**
 * `InterProcessSemaphoreV2` and `InterProcessSemaphoreMutex`: permits in `leases`, whatever their names, and a queue in
 * `locks`. Curator's waiter at the head of the queue has its lease already. Unless the limit is known, that waiter shows
 * as a holder.
 */
export function recogniseSemaphore(tree: BareTree, hints: TreeHints): RecognisedTree {
  const { locks = empty, leases = empty } = tree;
  const [locksPath, leasesPath] = [joinPath(tree.path, "locks"), joinPath(tree.path, "leases")];
  const lockNames = locks.children.map(({ name }) => name);
  const leaseNames = leases.children.map(({ name }) => name);
  const queue = queueOf("mutex", lockNames).contenders.map(
    (wanted) => locks.children.find(({ name }) => name === wanted) as TreeNode,
  );
  const held = heldLeases(leases.children, queue[0], limitOf(hints));
  return {
    family: "semaphore",
    kind: kindOf("semaphore", hints.kind),
    guessed: false,
    holders: permits(leasesPath, held, hints),
    waiters: queue.map((node) => describeNode("mutex", locksPath, node, modeOf(hints), hints)),
    findings: [
      ...strangersBeside(
        tree.path,
        tree.children.map(({ name }) => name),
      ),
      ...foreignChildren(locksPath, lockNames, "mutex"),
      ...sequenceHigh(locksPath, lockNames, locks.stat),
      ...foreignLeases(leasesPath, leaseNames),
      ...sequenceHigh(leasesPath, leaseNames, leases.stat),
    ],
  };
}

/** The `leases` node of a semaphore, without the nodes beside it. */
export function recogniseLonePermits(tree: BareTree, hints: TreeHints): RecognisedTree {
  return {
    family: "semaphore",
    kind: kindOf("semaphore", hints.kind),
    guessed: false,
    holders: permits(tree.path, inLeaseOrder(tree.children), hints),
    waiters: [],
    findings: [
      { type: "lone-permits", path: tree.path, permits: tree.children.length },
      ...foreignLeases(
        tree.path,
        tree.children.map(({ name }) => name),
      ),
    ],
  };
}

function modeOf({ kind }: TreeHints): LockMode {
  return kind === "semaphore-mutex" ? "exclusive" : "shared";
}

function limitOf({ kind, limit }: TreeHints): number | null {
  return limit ?? (kind === "semaphore-mutex" ? 1 : null);
}

/**
 * All leases, except the newest one when there is one too many and it belongs to the session at the head of the queue.
 * Only the head adds leases, so that lease has not been granted.
 */
function heldLeases(
  leases: readonly TreeNode[],
  head: TreeNode | undefined,
  limit: number | null,
): TreeNode[] {
  const order = inLeaseOrder(leases);
  const newest = order.at(-1);
  if (limit === null || order.length <= limit || head === undefined || newest === undefined) return order;
  const session = head.stat?.ephemeralOwner ?? 0n;
  return session !== 0n && newest.stat?.ephemeralOwner === session ? order.slice(0, -1) : order;
}

function inLeaseOrder(leases: readonly TreeNode[]): TreeNode[] {
  const byName = new Map(leases.map((node) => [node.name, node]));
  return inQueueOrder([...byName.keys()], leaseBase).map((name) => byName.get(name) as TreeNode);
}

function permits(path: string, leases: readonly TreeNode[], hints: TreeHints): TreeParticipant[] {
  return leases.map((node) => describeNode("semaphore", path, node, modeOf(hints), hints));
}
