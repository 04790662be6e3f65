import { joinPath, type Stat } from "@holdfast/zk-protocol";
import type {
  ForeignChild,
  KazooNames,
  MixedKinds,
  PossibleOldDowngrade,
  SequenceHigh,
} from "./layout-finding.js";
import {
  inQueueOrder,
  isContender,
  leaseBase,
  mutexBase,
  readBase,
  sequenceOf,
  sequenceRefuseFrom,
  sequenceWarnFrom,
  writeBase,
} from "./queue-order.js";
import { familyOf, isKazooName, type LayoutFamily, numberOf, queueOf } from "./recognise.js";
import type { TreeNode } from "./tree.js";

/**
 * Children that belong to no recipe. `family` is the family of the queue at `path`. A semaphore is checked as the mutex
 * and the leases that it consists of.
 */
export function foreignChildren(
  path: string,
  names: readonly string[],
  family: "mutex" | "leader-latch" | "read-write-lock",
): ForeignChild[] {
  const { order, contenders } = queueOf(family, names);
  // Readers wait for writers only, so a foreign child blocks only the writers behind it.
  const waiting = contenders.filter((name) => family !== "read-write-lock" || name.includes(writeBase));
  const last = waiting.at(-1);
  const blockedUpTo = last === undefined ? -1 : order.indexOf(last);
  return order.flatMap((child, at): ForeignChild[] => {
    if (familyOf(child) !== null || isKazooName(child)) return [];
    return [{ type: "foreign-child", path, child, effect: at < blockedUpTo ? "blocks" : "none" }];
  });
}

/** Every child of `leases` takes a permit, whatever its name. */
export function foreignLeases(path: string, names: readonly string[]): ForeignChild[] {
  return names
    .filter((name) => !isContender(name, leaseBase))
    .map((child) => ({ type: "foreign-child", path, child, effect: "takes-permit" }));
}

/** Foreign children beside `locks` and `leases`. Children of another recipe are reported as mixed kinds. */
export function strangersBeside(path: string, names: readonly string[]): ForeignChild[] {
  return names
    .filter((name) => familyOf(name) === null && !isKazooName(name))
    .map((child) => ({ type: "foreign-child", path, child, effect: "none" }));
}

export function mixedKinds(path: string, names: readonly string[]): MixedKinds[] {
  const first = new Map<LayoutFamily, string>();
  for (const name of inQueueOrder(names.filter((each) => each !== "ready"))) {
    const family = isKazooName(name) ? "kazoo" : familyOf(name);
    if (family !== null && !first.has(family)) first.set(family, name);
  }
  if (first.size < 2) return [];
  return [{ type: "mixed-kinds", path, families: [...first.keys()], children: [...first.values()] }];
}

export function kazooNames(path: string, names: readonly string[]): KazooNames[] {
  const children = names.filter(isKazooName);
  return children.length === 0 ? [] : [{ type: "kazoo-names", path, children }];
}

/**
 * `stat` is the `Stat` of the path; it shows the counter also while the queue is empty. The server numbers by the
 * creations of children. `cversion` counts creations and deletions, so together with the number of children it gives the
 * creations.
 */
export function sequenceHigh(path: string, names: readonly string[], stat: Stat | null): SequenceHigh[] {
  const counted = stat === null ? 0 : (stat.cversion + stat.numChildren) >>> 1;
  const named = names.map(
    (name) => sequenceOf(name, mutexBase, readBase, writeBase, "latch-", leaseBase) ?? 0,
  );
  // A counter that has wrapped shows as a negative number.
  const wrapped = named.some((sequence) => sequence < 0);
  const sequence = wrapped ? 2 ** 31 : Math.max(counted, ...named);
  if (sequence < sequenceWarnFrom) return [];
  return [
    { type: "sequence-high", path, sequence, level: sequence < sequenceRefuseFrom ? "warn" : "refuse" },
  ];
}

/**
 * `nodes`: the nodes of a read-write lock, in queue order. `ours`: whether a node is known to be of this library, which
 * makes no such read.
 */
export function oldDowngrades(
  path: string,
  nodes: readonly TreeNode[],
  ours: (node: TreeNode) => boolean,
): PossibleOldDowngrade[] {
  const write = nodes.find(({ name }) => name.includes(writeBase));
  const head = nodes[0];
  const session = write?.stat?.ephemeralOwner ?? 0n;
  if (write === undefined || head === undefined || session === 0n) return [];
  if (numberOf(write.name) !== numberOf(head.name)) return [];
  return nodes
    .filter(
      (node) =>
        node.name.includes(readBase) &&
        numberOf(node.name) !== numberOf(write.name) &&
        node.stat?.ephemeralOwner === session &&
        !ours(node),
    )
    .map((read) => ({
      type: "possible-old-downgrade",
      path,
      write: joinPath(path, write.name),
      read: joinPath(path, read.name),
      session,
    }));
}
