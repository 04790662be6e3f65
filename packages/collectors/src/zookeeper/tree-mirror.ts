import { baseName, joinPath, parentOf } from "@holdfast/zk-protocol";
import { Place, type ReadAsOf } from "./place.js";
import { isBelow } from "./roots.js";

/** Is called for each place that may have become something else, because its children or its own existence changed. */
export interface MirrorListener extends ReadAsOf {
  /** Called before a change, so that what was true until then can be reported first. */
  changing(place: Place): void;
  changed(place: Place): void;
  removed(place: Place): void;
}

/** The number of names that take some milliseconds of work. */
const namesInPart = 10_000;

/**
 * The names below the roots, as listings and events report them. Every change concerns one name and may arrive twice,
 * because an event and a listing can overtake each other. What an event says of a name during a walk is never older than
 * what the walk read of that name.
 */
export class TreeMirror {
  readonly #places = new Map<string, Place>();
  readonly #listener: MirrorListener;
  /** Whether a lone ephemeral node at this path is a naive mutex. */
  readonly isNaive: (path: string) => boolean;
  /** What events said during a walk or a comparison, by path: `true` for created, `false` for deleted. */
  #touched: Map<string, boolean> | null = null;
  #walkers = 0;

  constructor(listener: MirrorListener, isNaive: (path: string) => boolean = () => false) {
    this.#listener = listener;
    this.isNaive = isNaive;
  }

  get size(): number {
    return this.#places.size;
  }

  get(path: string): Place | undefined {
    return this.#places.get(path);
  }

  places(): IterableIterator<Place> {
    return this.#places.values();
  }

  /** From here on events are remembered, for `merge`, until `endWalk` has been called as often as `beginWalk`. */
  beginWalk(): void {
    this.#walkers += 1;
    this.#touched ??= new Map();
  }

  endWalk(): void {
    this.#walkers -= 1;
    if (this.#walkers === 0) this.#touched = null;
  }

  /** What the last event since the walk began said of the path: `true` for created, `false` for deleted. */
  touched(path: string): boolean | undefined {
    return this.#touched?.get(path);
  }

  created(path: string): void {
    this.#touched?.set(path, true);
    if (path === "/") return;
    const parent = this.#ensure(parentOf(path));
    const name = baseName(path);
    if (parent.has(name)) return;
    this.#listener.changing(parent);
    parent.add(name);
    const below = parent.others.has(name) ? this.#ensure(path) : undefined;
    this.#listener.changed(parent);
    if (below?.size === 0) this.#listener.changed(below);
  }

  deleted(path: string): void {
    this.#touched?.set(path, false);
    this.#remove(path);
    const parent = this.#places.get(parentOf(path));
    const name = baseName(path);
    if (parent === undefined || !parent.has(name)) return;
    this.#listener.changing(parent);
    parent.delete(name);
    this.#listener.changed(parent);
  }

  /** Takes over a listing. Returns the paths of the children that may have children themselves. */
  merge(path: string, names: readonly string[], pass: number): string[] {
    const place = this.#ensure(path);
    place.seenIn(pass);
    const { missing, surplus } = this.differences(path, names);
    if (missing.length > 0 || surplus.length > 0 || place.denied) {
      this.#listener.changing(place);
      place.denied = false;
      for (const name of missing) place.add(name);
      for (const name of surplus) {
        place.delete(name);
        this.#remove(joinPath(path, name));
      }
      this.#listener.changed(place);
    } else if (place.size === 0) this.#listener.changed(place);
    return [...place.others].map((name) => joinPath(path, name));
  }

  /**
   * Like `merge`, for a listing so long that it would hold up everything else: each step merges a part. Events that arrive
   * between two steps are newer than the listing, and count.
   */
  *mergeInParts(
    path: string,
    names: readonly string[],
    pass: number,
    partSize: number = namesInPart,
  ): Generator<void, string[]> {
    const place = this.#ensure(path);
    place.seenIn(pass);
    const isNew = place.size === 0;
    let steps = 0;
    const isPart = (): boolean => ++steps % partSize === 0;
    this.#listener.changing(place);
    place.denied = false;
    for (const name of names) {
      if (!place.has(name) && !this.#saysOtherwise(path, name, true)) place.add(name);
      if (!isPart()) continue;
      yield;
      if (this.#places.get(path) !== place) return [];
    }
    if (!isNew) {
      const listed = new Set(names);
      for (const name of [...place.names()]) {
        if (!listed.has(name) && !this.#saysOtherwise(path, name, false)) {
          place.delete(name);
          this.#remove(joinPath(path, name));
        }
        if (!isPart()) continue;
        yield;
        if (this.#places.get(path) !== place) return [];
      }
    }
    this.#listener.changed(place);
    const below: string[] = [];
    for (const name of place.others) {
      below.push(joinPath(path, name));
      if (isPart()) yield;
    }
    return below;
  }

  /**
   * The names that only the listing has, and those that only the mirror has. Names are left out if an event has said
   * otherwise meanwhile.
   */
  differences(
    path: string,
    names: readonly string[],
  ): { missing: readonly string[]; surplus: readonly string[] } {
    const place = this.#places.get(path);
    const touched = this.#touched;
    const isNew = (place?.size ?? 0) === 0;
    if (isNew && (touched === null || touched.size === 0)) return { missing: names, surplus: [] };
    const missing = names.filter(
      (name) => place?.has(name) !== true && !this.#saysOtherwise(path, name, true),
    );
    const inMirror = place?.size ?? 0;
    if (inMirror === names.length - missing.length) return { missing, surplus: [] };
    const listed = new Set(names);
    const surplus = [...(place?.names() ?? [])].filter(
      (name) => !listed.has(name) && !this.#saysOtherwise(path, name, false),
    );
    return { missing, surplus };
  }

  denied(path: string, pass: number): void {
    const place = this.#ensure(path);
    place.seenIn(pass);
    this.#listener.changing(place);
    place.denied = true;
    this.#listener.changed(place);
  }

  /** The node was not there when it was listed. */
  absent(path: string): void {
    if (this.touched(path) === true) return;
    this.#remove(path);
    const parent = this.#places.get(parentOf(path));
    if (parent?.has(baseName(path)) !== true) return;
    this.#listener.changing(parent);
    parent.delete(baseName(path));
    this.#listener.changed(parent);
  }

  /**
   * Drops the places at and below a root that neither this pass nor a later one has seen. A later pass may run at the same
   * time.
   */
  prune(root: string, pass: number): number {
    let gone = 0;
    for (const place of this.#places.values()) {
      if (place.pass >= pass || this.touched(place.path) === true) continue;
      if (place.path !== root && !isBelow(place.path, root)) continue;
      this.#remove(place.path);
      gone += 1;
    }
    return gone;
  }

  /** Whether an event has said the opposite of what a listing says. */
  #saysOtherwise(path: string, name: string, there: boolean): boolean {
    const touched = this.#touched;
    return touched !== null && touched.size > 0 && touched.get(joinPath(path, name)) === !there;
  }

  #ensure(path: string): Place {
    const there = this.#places.get(path);
    if (there !== undefined) return there;
    const place = new Place(path, this.#listener);
    this.#places.set(path, place);
    const parent = path === "/" ? undefined : this.#places.get(parentOf(path));
    // A node with children is no contender, whatever its name.
    const name = baseName(path);
    if (parent?.numbered.delete(name) === true) parent.others.add(name);
    return place;
  }

  #remove(path: string): void {
    const place = this.#places.get(path);
    if (place === undefined) return;
    this.#places.delete(path);
    for (const name of place.others) this.#remove(joinPath(path, name));
    this.#listener.removed(place);
  }
}
