/** The rows with the largest values above 0, up to a number. */
export class TopRows<T> {
  readonly #size: number;
  /** Largest first. */
  readonly #rows: { readonly value: number; readonly row: T }[] = [];

  constructor(size: number) {
    this.#size = size;
  }

  /** `row` is called only if the row gets in. */
  offer(value: number, row: () => T): void {
    const rows = this.#rows;
    const last = rows.at(-1);
    if (!(value > 0) || (rows.length === this.#size && last !== undefined && value <= last.value)) return;
    let at = rows.length;
    while (at > 0 && (rows[at - 1]?.value ?? 0) < value) at -= 1;
    rows.splice(at, 0, { value, row: row() });
    if (rows.length > this.#size) rows.pop();
  }

  [Symbol.iterator](): Iterator<{ readonly value: number; readonly row: T }> {
    return this.#rows[Symbol.iterator]();
  }
}
