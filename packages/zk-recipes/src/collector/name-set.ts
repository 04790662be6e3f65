const promoteAt = 32;

/** Names of children. Nearly all locks have one or two: a list is a fifth of a `Set` then. */
export class NameSet {
  #names: string[] | Set<string> = [];

  get size(): number {
    return Array.isArray(this.#names) ? this.#names.length : this.#names.size;
  }

  has(name: string): boolean {
    return Array.isArray(this.#names) ? this.#names.includes(name) : this.#names.has(name);
  }

  /** `false` when it was there. */
  add(name: string): boolean {
    if (this.has(name)) return false;
    if (!Array.isArray(this.#names)) this.#names.add(name);
    else if (this.#names.length < promoteAt) this.#names.push(name);
    else this.#names = new Set([...this.#names, name]);
    return true;
  }

  /** `false` when it was not there. */
  delete(name: string): boolean {
    if (!Array.isArray(this.#names)) return this.#names.delete(name);
    const at = this.#names.indexOf(name);
    if (at < 0) return false;
    this.#names.splice(at, 1);
    return true;
  }

  first(): string | undefined {
    for (const name of this.#names) return name;
    return undefined;
  }

  [Symbol.iterator](): Iterator<string> {
    return this.#names[Symbol.iterator]();
  }
}
