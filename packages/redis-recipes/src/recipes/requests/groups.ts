const none: readonly never[] = [];

/** Objects in groups. A group of one object has no set of its own: of 100,000 held locks most are groups of one. */
export class Groups<K, V extends object> {
  readonly #groups = new Map<K, V | Set<V>>();

  /** How many groups there are. */
  get size(): number {
    return this.#groups.size;
  }

  add(at: K, each: V): void {
    const group = this.#groups.get(at);
    if (group === undefined) this.#groups.set(at, each);
    else if (group instanceof Set) group.add(each);
    else if (group !== each) this.#groups.set(at, new Set([group, each]));
  }

  /** A group without objects is removed. */
  remove(at: K, each: V): void {
    const group = this.#groups.get(at);
    if (group === each) this.#groups.delete(at);
    else if (group instanceof Set && group.delete(each) && group.size === 0) this.#groups.delete(at);
  }

  of(at: K): Iterable<V> {
    const group = this.#groups.get(at);
    if (group === undefined) return none;
    return group instanceof Set ? group : [group];
  }

  /** Whether this object is the only one of its group. */
  isAlone(at: K, each: V): boolean {
    const group = this.#groups.get(at);
    return group === each || (group instanceof Set && group.size === 1 && group.has(each));
  }

  clear(): void {
    this.#groups.clear();
  }
}
