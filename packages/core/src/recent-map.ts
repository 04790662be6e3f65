/**
 * A map that keeps at most `most` entries: beyond that it forgets the entries that were set longest ago. `isOver`: whether an
 * entry may be forgotten before that, once it is the oldest.
 */
export class RecentMap<K, V> extends Map<K, V> {
  readonly #most: number;
  readonly #isOver: (value: V) => boolean;
  /**
   * An iterator that goes on from where it stands. A new iterator would first pass the places of thousands of deleted entries.
   */
  #fromOldest = this.entries();
  /** The entry that the iterator gave last, unless it was deleted since. */
  #oldest: readonly [K, V] | undefined;

  constructor(most: number, isOver: (value: V) => boolean = () => false) {
    super();
    this.#most = most;
    this.#isOver = isOver;
  }

  override set(key: K, value: V): this {
    this.delete(key);
    super.set(key, value);
    this.forgetOld();
    return this;
  }

  override delete(key: K): boolean {
    if (this.#oldest?.[0] === key) this.#oldest = undefined;
    return super.delete(key);
  }

  override clear(): void {
    this.#oldest = undefined;
    super.clear();
  }

  forgetOld(): void {
    for (;;) {
      const oldest = this.#oldest ?? this.#next();
      if (oldest === undefined) return;
      if (this.size <= this.#most && !this.#isOver(oldest[1])) return;
      this.delete(oldest[0]);
    }
  }

  #next(): readonly [K, V] | undefined {
    const next = this.#fromOldest.next();
    // All entries that the iterator passed are gone, so the map is empty. An iterator that has ended gives nothing more.
    if (next.done === true) this.#fromOldest = this.entries();
    else this.#oldest = next.value;
    return this.#oldest;
  }
}
