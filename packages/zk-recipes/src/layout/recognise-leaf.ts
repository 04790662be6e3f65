import type { PrimitiveKind } from "@holdfast/core";
import { baseName, parentOf } from "@holdfast/zk-protocol";
import { readNodeData } from "./node-data.js";
import { describeNode } from "./recognise-participant.js";
import type { BareTree, RecognisedTree, TreeHints } from "./tree.js";

const nothing: RecognisedTree = {
  family: null,
  kind: null,
  guessed: false,
  holders: [],
  waiters: [],
  findings: [],
};

/** Recognises a path without a known child by the node itself. Each result is a guess. */
export function recogniseLeaf(tree: BareTree, hints: TreeHints): RecognisedTree {
  const { stat, data, children } = tree;
  if (stat === null || children.length > 0 || stat.numChildren > 0) return nothing;
  if (stat.ephemeralOwner !== 0n) return loneHolder(tree, hints);
  const kind = valueKind(data);
  return kind === null ? nothing : { ...nothing, kind: expected(kind, hints.kind), guessed: true };
}

/** A lock that is one ephemeral node; the client that made the node holds. A member of a group looks the same. */
function loneHolder(tree: BareTree, hints: TreeHints): RecognisedTree {
  const node = { name: baseName(tree.path), stat: tree.stat, data: tree.data };
  const holder = describeNode("mutex", parentOf(tree.path), node, "exclusive", hints);
  return { ...nothing, kind: "naive-mutex", guessed: true, holders: [holder] };
}

/**
 * The kind of a value by its bytes: 4 bytes of a `SharedCount` or 8 bytes of a `DistributedAtomicLong`. Bytes that are a
 * text are no number; an address is the data of a set `DistributedBarrier`.
 */
function valueKind(data: Uint8Array | null): PrimitiveKind | null {
  if (data === null || data.length === 0) return null;
  if (readNodeData(data).address !== null) return "barrier";
  if (data.every((byte) => byte >= 0x20 && byte < 0x7f)) return null;
  if (data.length === 4) return "shared-count";
  return data.length === 8 ? "atomic-long" : null;
}

/** A count-down latch is a count too. */
function expected(kind: PrimitiveKind, asked: PrimitiveKind | undefined): PrimitiveKind {
  return kind === "shared-count" && asked === "count-down-latch" ? asked : kind;
}
