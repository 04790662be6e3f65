import type { LockMode } from "@holdfast/core";
import { joinPath } from "@holdfast/zk-protocol";
import { foreignChildren, kazooNames, mixedKinds, oldDowngrades, sequenceHigh } from "./findings.js";
import type { LayoutFinding } from "./layout-finding.js";
import { isContender, leaseBase, readBase, writeBase } from "./queue-order.js";
import { familyOf, isKazooName, kindOf, type LayoutFamily, queueOf, serves } from "./recognise.js";
import { recogniseKazoo } from "./recognise-kazoo.js";
import { recogniseLeaf } from "./recognise-leaf.js";
import { byAge, describeNode, isOurs } from "./recognise-participant.js";
import { recogniseLonePermits, recogniseSemaphore } from "./recognise-semaphore.js";
import type { BareTree, RecognisedTree, TreeHints, TreeNode, TreeParticipant } from "./tree.js";

/**
 * What a tree says about its recipe, its holders, its waiters in order, and the findings for an operator. Pure: it looks
 * only at what was read, so it works for a path about which nothing else is known. Never throws, whatever is in the tree.
 *
 * A node in the tree does not prove that its process still believes in its hold. A missing node does not prove that the
 * process has stopped.
 */
export function recogniseTree(tree: BareTree, hints: TreeHints = {}): RecognisedTree {
  const names = tree.children.map(({ name }) => name);
  const findings: LayoutFinding[] = [
    ...mixedKinds(tree.path, names),
    ...kazooNames(tree.path, names),
    ...sequenceHigh(tree.path, names, tree.stat),
  ];
  const family = familyAmong(names, hints);
  const found = family === null ? recogniseLeaf(tree, hints) : recogniseFamily(family, tree, hints);
  return { ...found, findings: [...findings, ...found.findings] };
}

/**
 * The family that counts if there are several: the expected one, else the one whose name sorts first. So the server's
 * order of listing decides nothing.
 */
function familyAmong(names: readonly string[], { kind }: TreeHints): LayoutFamily | null {
  // Curator's and kazoo's double barriers both have `ready`: the names of the members decide.
  const telling = names.filter((name) => name !== "ready");
  const families = (telling.length > 0 ? telling : [...names])
    .sort()
    .map((name) => familyOf(name) ?? (isKazooName(name) ? "kazoo" : null));
  const known = families.filter((family) => family !== null);
  const expected = kind === undefined ? undefined : known.find((family) => serves(family, kind));
  return expected ?? known[0] ?? null;
}

function recogniseFamily(family: LayoutFamily, tree: BareTree, hints: TreeHints): RecognisedTree {
  switch (family) {
    case "semaphore": {
      const permits = tree.children.filter(({ name }) => isContender(name, leaseBase));
      const lone =
        permits.length > 0 && !tree.children.some(({ name }) => name === "locks" || name === "leases");
      return lone ? recogniseLonePermits(tree, hints) : recogniseSemaphore(tree, hints);
    }
    case "double-barrier":
      return recogniseMembers(tree, hints);
    case "kazoo":
      return recogniseKazoo(tree, hints);
    default:
      return recogniseQueue(family, tree, hints);
  }
}

function recogniseQueue(
  family: "mutex" | "leader-latch" | "read-write-lock",
  tree: BareTree,
  hints: TreeHints,
): RecognisedTree {
  const names = tree.children.map(({ name }) => name);
  const { contenders, holding } = queueOf(family, names);
  const byName = new Map(tree.children.map((node) => [node.name, node]));
  const queue = contenders.map((name) => byName.get(name) as TreeNode);
  const foreign = foreignChildren(tree.path, names, family);
  const findings: LayoutFinding[] = [
    ...foreign,
    ...(family === "read-write-lock"
      ? oldDowngrades(tree.path, queue, (node) => isOurs(tree.path, node, hints))
      : []),
  ];
  const people = queue.map((node, at) => {
    const person = describeNode(family, tree.path, node, modeOf(family, node.name), hints);
    return family === "read-write-lock" ? { ...person, token: readWriteToken(queue, at) } : person;
  });
  const blocked = foreign.filter(({ effect }) => effect === "blocks").map(({ child }) => byName.get(child));
  const held = holding > 0 && neverGranted(queue[0] as TreeNode, blocked) ? 0 : holding;
  const holders = people.slice(0, held);
  return {
    family,
    kind: kindOf(family, hints.kind),
    guessed: false,
    // A writer before the read beside it: the two have the same number.
    holders: [...holders.filter(isExclusive), ...holders.filter((person) => !isExclusive(person))],
    waiters: people.slice(held),
    findings,
  };
}

function isExclusive({ mode }: TreeParticipant): boolean {
  return mode === "exclusive";
}

/** The most foreign children of one lock whose age is looked at. */
const mostBlockers = 100;

/** The paths of the foreign children of `path` that stand in front of contenders. */
export function blockersOf(path: string, findings: readonly LayoutFinding[]): string[] {
  return findings
    .flatMap((each) =>
      each.type === "foreign-child" && each.effect === "blocks" && each.path === path
        ? [joinPath(path, each.child)]
        : [],
    )
    .slice(0, mostBlockers);
}

/** Whether the head was never granted: a foreign child sorts before it and is older than it. */
function neverGranted(head: TreeNode, blocking: readonly (TreeNode | undefined)[]): boolean {
  if (head.name.includes(readBase)) return false;
  const since = head.stat?.czxid;
  return (
    since !== undefined &&
    blocking.some((node) => node !== undefined && node.stat !== null && node.stat.czxid < since)
  );
}

function modeOf(family: LayoutFamily, name: string): LockMode {
  return family === "read-write-lock" && !name.includes(writeBase) ? "shared" : "exclusive";
}

/**
 * The `czxid` of the node; for a read beside a write, the `czxid` of the write. Once the write is gone, such a read
 * stands before nodes that are older than itself. Its token can then not be found any more.
 */
function readWriteToken(queue: readonly TreeNode[], at: number): bigint | null {
  const node = queue[at] as TreeNode;
  const own = node.stat?.czxid ?? null;
  if (own === null || node.name.includes(writeBase)) return own;
  const key = node.name.slice(-10);
  const write = queue.find(({ name }) => name.includes(writeBase) && name.endsWith(key));
  if (write !== undefined) return write.stat?.czxid ?? null;
  return queue.slice(at + 1).some(({ stat }) => stat !== null && stat.czxid < own) ? null : own;
}

/** Members that have entered wait until `ready` is there. From then on they are inside, until they leave. */
function recogniseMembers(tree: BareTree, hints: TreeHints): RecognisedTree {
  const members: TreeParticipant[] = tree.children
    .filter(({ name }) => name !== "ready" && familyOf(name) === "double-barrier")
    .map((node) => describeNode("double-barrier", tree.path, node, "shared", hints))
    .sort(byAge);
  const open = tree.children.some(({ name }) => name === "ready");
  return {
    family: "double-barrier",
    kind: "double-barrier",
    guessed: false,
    holders: open ? members : [],
    waiters: open ? [] : members,
    findings: [],
  };
}
