const promoteAt = 32;

/**
 * Names of children. Nearly all locks have one child, which needs no list; a list of a few takes a fifth of the memory of a
 * `Set`.
 */
export class NameSet {
  #names: string | readonly string[] | Set<string> | null = null;

  get size(): number {
    const names = this.#names;
    if (names === null) return 0;
    if (typeof names === "string") return 1;
    return names instanceof Set ? names.size : names.length;
  }

  has(name: string): boolean {
    const names = this.#names;
    if (names === null) return false;
    if (typeof names === "string") return names === name;
    return names instanceof Set ? names.has(name) : names.includes(name);
  }

  /** Returns `false` when the name was already there. */
  add(name: string): boolean {
    if (this.has(name)) return false;
    const names = this.#names;
    if (names === null) this.#names = name;
    else if (names instanceof Set) names.add(name);
    // A new list each time, because a list that grows in place keeps room for sixteen more.
    else if (typeof names === "string") this.#names = [names, name];
    else if (names.length < promoteAt) this.#names = [...names, name];
    else this.#names = new Set([...names, name]);
    return true;
  }

  /** Returns `false` when the name was not there. */
  delete(name: string): boolean {
    if (!this.has(name)) return false;
    const names = this.#names;
    if (names instanceof Set) names.delete(name);
    else if (typeof names === "string" || names === null) this.#names = null;
    else this.#names = names.filter((each) => each !== name);
    if (this.size === 0) this.#names = null;
    return true;
  }

  first(): string | undefined {
    for (const name of this) return name;
    return undefined;
  }

  [Symbol.iterator](): Iterator<string> {
    const names = this.#names;
    if (names === null) return none[Symbol.iterator]();
    return (typeof names === "string" ? [names] : names)[Symbol.iterator]();
  }
}

const none: readonly string[] = [];
