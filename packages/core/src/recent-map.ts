/**
 * A map that remembers so many entries: beyond that those that were set longest ago are forgotten. `isOver`: of an entry that is
 * forgotten before that, once it is the oldest.
 */
export class RecentMap<K, V> extends Map<K, V> {
  readonly #most: number;
  readonly #isOver: (value: V) => boolean;

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

  forgetOld(): void {
    for (const [key, value] of this) {
      if (this.size <= this.#most && !this.#isOver(value)) return;
      this.delete(key);
    }
  }
}
