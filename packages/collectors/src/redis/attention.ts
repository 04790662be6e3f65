/** The locks that somebody looks at, by key how many do. */
export class Attention {
  readonly #lookers = new Map<string, number>();

  has(key: string): boolean {
    return this.#lookers.has(key);
  }

  keys(most: number): string[] {
    const keys: string[] = [];
    for (const key of this.#lookers.keys()) {
      if (keys.length === most) break;
      keys.push(key);
    }
    return keys;
  }

  attend(keys: readonly string[]): { update(keys: readonly string[]): void; end(): void } {
    let own: readonly string[] = [];
    const update = (next: readonly string[]): void => {
      for (const key of next) this.#lookers.set(key, (this.#lookers.get(key) ?? 0) + 1);
      for (const key of own) {
        const left = (this.#lookers.get(key) ?? 1) - 1;
        if (left === 0) this.#lookers.delete(key);
        else this.#lookers.set(key, left);
      }
      own = [...next];
    };
    update(keys);
    return { update, end: () => update([]) };
  }
}
