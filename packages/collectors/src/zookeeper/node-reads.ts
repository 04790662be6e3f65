import { baseName, joinPath } from "@holdfast/zk-protocol";
import type { TreeNode } from "@holdfast/zk-recipes/internal";
import type { NodeResult } from "./bulk-reads.js";
import type { Place } from "./place.js";

/** One node to read: that of a lock's participant, or (`name` is `null`) that of the place itself. */
export interface NodeToRead {
  readonly place: Place;
  readonly path: string;
  readonly name: string | null;
}

export interface NodeReadsContext {
  read(paths: readonly string[], each: (path: string, result: NodeResult) => void): Promise<void>;
  /** The nodes of a place that are wanted and not known. Called when the turn of the place comes. */
  nodesToRead(place: Place): readonly NodeToRead[];
  got(asked: NodeToRead, node: TreeNode | null): void;
  setTimer(delayMs: number, fn: () => void): () => void;
}

/** The most nodes in one batch. */
const perRead = 500;
/**
 * A parent gets its first child right after it is made, and then need not be read. So the read of a place without children
 * waits this long.
 */
const leafDelayMs = 250;
const retryMs = 500;

/** Reads data and stat of the wanted nodes, one batch after the other. */
export class NodeReads {
  readonly #context: NodeReadsContext;
  readonly #wanted = new Set<Place>();
  readonly #leaves = new Set<Place>();
  #busy = false;
  /** What did not fit into the last batch. */
  #rest: NodeToRead[] = [];
  /**
   * How many nodes the next batch may have. The answer to a batch of large nodes is larger than a frame may be, which ends the
   * connection. So after a failure fewer are asked for.
   */
  #most = perRead;
  #leafTimer: (() => void) | null = null;
  #retry: (() => void) | null = null;
  #stopped = false;
  /** The number of nodes that were asked for so far. */
  asked = 0;

  constructor(context: NodeReadsContext) {
    this.#context = context;
  }

  want(place: Place): void {
    this.#wanted.add(place);
    this.#go();
  }

  /** Reads a place without children later, to find out what it is, unless it has children by then. */
  wantSelf(place: Place): void {
    this.#leaves.add(place);
    this.#leafTimer ??= this.#context.setTimer(leafDelayMs, () => {
      this.#leafTimer = null;
      this.#go();
    });
  }

  forget(place: Place): void {
    this.#wanted.delete(place);
    this.#leaves.delete(place);
  }

  stop(): void {
    this.#stopped = true;
    this.#leafTimer?.();
    this.#retry?.();
  }

  #go(): void {
    if (this.#busy || this.#stopped || this.#retry !== null) return;
    const all = this.#nextNodes();
    const nodes = all.slice(0, this.#most);
    this.#rest = all.slice(this.#most);
    if (nodes.length === 0) return;
    this.#busy = true;
    this.asked += nodes.length;
    let at = 0;
    this.#context
      .read(
        nodes.map(({ path }) => path),
        (path, result) => this.#answered(nodes[at++] as NodeToRead, path, result),
      )
      .then(
        () => this.#done(),
        () => this.#failed(nodes.slice(at)),
      );
  }

  #answered(asked: NodeToRead, path: string, result: NodeResult): void {
    const name = asked.name ?? baseName(path);
    this.#context.got(asked, "stat" in result ? { name, stat: result.stat, data: result.data } : null);
  }

  #done(): void {
    this.#busy = false;
    this.#most = Math.min(perRead, 2 * this.#most);
    this.#go();
  }

  /** The unread nodes are asked for again after a while. */
  #failed(unread: readonly NodeToRead[]): void {
    this.#busy = false;
    this.#most = Math.max(1, Math.floor(this.#most / 8));
    for (const { place, name } of unread) (name === null ? this.#leaves : this.#wanted).add(place);
    this.#retry = this.#context.setTimer(retryMs, () => {
      this.#retry = null;
      this.#go();
    });
  }

  #nextNodes(): NodeToRead[] {
    const nodes: NodeToRead[] = [...this.#rest];
    for (const place of this.#wanted) {
      if (nodes.length >= this.#most) return nodes;
      this.#wanted.delete(place);
      nodes.push(...this.#context.nodesToRead(place));
    }
    if (this.#leafTimer !== null) return nodes;
    for (const place of this.#leaves) {
      if (nodes.length >= this.#most) return nodes;
      this.#leaves.delete(place);
      if (place.size === 0 && place.self === null) nodes.push({ place, path: place.path, name: null });
    }
    return nodes;
  }
}

export function nodeToRead(place: Place, path: string): NodeToRead {
  return { place, path, name: path === place.path ? null : baseName(path) };
}

export function childToRead(place: Place, name: string): NodeToRead {
  return { place, path: joinPath(place.path, name), name };
}
