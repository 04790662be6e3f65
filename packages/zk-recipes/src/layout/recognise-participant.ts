import type { LockMode, Recognised } from "@holdfast/core";
import { joinPath } from "@holdfast/zk-protocol";
import { readCandidateData, readNodeData } from "./node-data.js";
import { parseProtectedName } from "./queue-order.js";
import { isKazooName, type LayoutFamily } from "./recognise.js";
import type { TreeHints, TreeNode, TreeParticipant } from "./tree.js";

/** One participant, as its node shows it. */
export function describeNode(
  family: LayoutFamily,
  parent: string,
  node: TreeNode,
  mode: LockMode,
  hints: TreeHints,
): TreeParticipant {
  const { name, stat } = node;
  const { address, label } = dataOf(family, node);
  return {
    path: joinPath(parent, name),
    name,
    mode,
    session: stat?.ephemeralOwner ?? null,
    sinceMs: stat === null ? null : Number(stat.ctime),
    token: stat?.czxid ?? null,
    label,
    address,
    recognisedAs: recognisedAs(parent, node, hints),
  };
}

/** Orders participants whose names have no number: the oldest node first, as far as the age was read. */
export function byAge(a: TreeParticipant, b: TreeParticipant): number {
  if (a.token !== null && b.token !== null && a.token !== b.token) return a.token < b.token ? -1 : 1;
  return a.name < b.name ? -1 : 1;
}

/** Whether the reader itself made the node, or its data has the text that only this library writes. */
export function isOurs(parent: string, node: TreeNode, { ours }: TreeHints): boolean {
  return ours?.(joinPath(parent, node.name)) === true || readNodeData(node.data).identified;
}

function recognisedAs(parent: string, node: TreeNode, hints: TreeHints): Recognised {
  if (isOurs(parent, node, hints)) return "holdfast";
  if (isKazooName(node.name)) return "kazoo";
  return parseProtectedName(node.name) === null ? "unknown" : "curator";
}

function dataOf(family: LayoutFamily, { data }: TreeNode): { address: string | null; label: string | null } {
  return family === "leader-latch" ? readCandidateData("latch", data) : readNodeData(data);
}
