import { baseName, joinPath } from "@holdfast/zk-protocol";
import type { TreeNode } from "@holdfast/zk-recipes/internal";
import type { NodeResult } from "./bulk-reads.js";
import type { Place } from "./place.js";

/** One node to read: of a lock's participant, or (`name` is `null`) the place itself. */
export interface NodeWish {
  readonly place: Place;
  readonly path: string;
  readonly name: string | null;
}

export interface NodeReadsDesk {
  read(paths: readonly string[], each: (path: string, result: NodeResult) => void): Promise<void>;
  /** The nodes of a place that are wanted and not known; asked when its turn comes. */
  wishesOf(place: Place): readonly NodeWish[];
  got(wish: NodeWish, node: TreeNode | null): void;
  setTimer(delayMs: number, fn: () => void): () => void;
}

const perRead = 500;
/** A parent gets its first child right after it is made: then it need not be read. */
const leafDelayMs = 250;
const retryMs = 500;

/** Data and stat of the nodes that were asked for, one batch after the other. */
export class NodeReads {
  readonly #desk: NodeReadsDesk;
  readonly #wanted = new Set<Place>();
  readonly #leaves = new Set<Place>();
  #busy = false;
  #leafTimer: (() => void) | null = null;
  #retry: (() => void) | null = null;
  #stopped = false;
  /** How many nodes were asked for so far. */
  asked = 0;

  constructor(desk: NodeReadsDesk) {
    this.#desk = desk;
  }

  want(place: Place): void {
    this.#wanted.add(place);
    this.#go();
  }

  /** Looks what a place without children is, unless it has some by then. */
  wantSelf(place: Place): void {
    this.#leaves.add(place);
    this.#leafTimer ??= this.#desk.setTimer(leafDelayMs, () => {
      this.#leafTimer = null;
      this.#go();
    });
  }

  forget(place: Place): void {
    this.#wanted.delete(place);
    this.#leaves.delete(place);
  }

  /** Contact is back. */
  resume(): void {
    this.#go();
  }

  stop(): void {
    this.#stopped = true;
    this.#leafTimer?.();
    this.#retry?.();
  }

  #go(): void {
    if (this.#busy || this.#stopped || this.#retry !== null) return;
    const wishes = this.#nextWishes();
    if (wishes.length === 0) return;
    this.#busy = true;
    this.asked += wishes.length;
    let at = 0;
    this.#desk
      .read(
        wishes.map(({ path }) => path),
        (path, result) => this.#answered(wishes[at++] as NodeWish, path, result),
      )
      .then(
        () => this.#done(),
        () => this.#failed(wishes.slice(at)),
      );
  }

  #answered(wish: NodeWish, path: string, result: NodeResult): void {
    const name = wish.name ?? baseName(path);
    this.#desk.got(wish, "stat" in result ? { name, stat: result.stat, data: result.data } : null);
  }

  #done(): void {
    this.#busy = false;
    this.#go();
  }

  /** Asked again when there is contact, or after a while. */
  #failed(unread: readonly NodeWish[]): void {
    this.#busy = false;
    for (const { place, name } of unread) (name === null ? this.#leaves : this.#wanted).add(place);
    this.#retry = this.#desk.setTimer(retryMs, () => {
      this.#retry = null;
      this.#go();
    });
  }

  #nextWishes(): NodeWish[] {
    const wishes: NodeWish[] = [];
    for (const place of this.#wanted) {
      if (wishes.length >= perRead) return wishes;
      this.#wanted.delete(place);
      wishes.push(...this.#desk.wishesOf(place));
    }
    if (this.#leafTimer !== null) return wishes;
    for (const place of this.#leaves) {
      if (wishes.length >= perRead) return wishes;
      this.#leaves.delete(place);
      if (place.size === 0 && place.self === null) wishes.push({ place, path: place.path, name: null });
    }
    return wishes;
  }
}

export function wishFor(place: Place, path: string): NodeWish {
  return { place, path, name: path === place.path ? null : baseName(path) };
}

export function childWish(place: Place, name: string): NodeWish {
  return { place, path: joinPath(place.path, name), name };
}
