import type { State } from "./state.js";
import type { TreeNode } from "./tree.js";

export interface CleanerOptions {
  /** The largest number of nodes that one run removes. */
  readonly mostAtOnce: number;
  /** A container that never had a child is removed this many milliseconds after its last write; 0 means never. */
  readonly maxNeverUsedMs: number;
}

/**
 * Removes containers that have had children and have none left, and TTL nodes without children whose data is older than
 * their time. Each removal is a transaction of its own. Returns how many nodes were removed.
 */
export function clean(state: State, options: CleanerOptions): number {
  const wallMs = state.clock.wallMs();
  let cleaned = 0;
  for (const node of [...state.tree.mortal]) {
    if (cleaned >= options.mostAtOnce) break;
    if (
      node.childCount === 0 &&
      isDue(node, wallMs, options.maxNeverUsedMs) &&
      state.deleteMortal(node.path)
    ) {
      cleaned += 1;
    }
  }
  return cleaned;
}

function isDue(node: TreeNode, wallMs: number, maxNeverUsedMs: number): boolean {
  if (node.kind === "ttl") return wallMs - node.mtimeMs > node.ttlMs;
  return node.created > 0 || (maxNeverUsedMs > 0 && wallMs - node.mtimeMs > maxNeverUsedMs);
}
