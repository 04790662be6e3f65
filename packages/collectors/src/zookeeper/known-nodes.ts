import type { TreeNode } from "@holdfast/zk-recipes/internal";

/**
 * The child nodes that were read, by name. For nearly every lock these are one or a few, so they are in a list without spare
 * room.
 */
export class KnownNodes {
  #nodes: readonly TreeNode[] = [];

  has(name: string): boolean {
    return this.get(name) !== undefined;
  }

  get(name: string): TreeNode | undefined {
    for (const node of this.#nodes) if (node.name === name) return node;
    return undefined;
  }

  set(node: TreeNode): void {
    this.#nodes = [...this.#nodes.filter(({ name }) => name !== node.name), node];
  }

  /** Returns `false` when the node was not there. */
  delete(name: string): boolean {
    if (!this.has(name)) return false;
    this.#nodes = this.#nodes.filter((node) => node.name !== name);
    return true;
  }

  values(): Iterable<TreeNode> {
    return this.#nodes;
  }
}
