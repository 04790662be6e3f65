import type { TreeNode } from "@holdfast/zk-recipes/internal";

/** What was read of children, by name. Of nearly every lock that is one or a few: a list, without room to spare. */
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

  /** `false` when it was not there. */
  delete(name: string): boolean {
    if (!this.has(name)) return false;
    this.#nodes = this.#nodes.filter((node) => node.name !== name);
    return true;
  }

  values(): Iterable<TreeNode> {
    return this.#nodes;
  }
}
