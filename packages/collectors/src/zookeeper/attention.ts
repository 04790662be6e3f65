import type { LockBook } from "./lock-book.js";
import type { Place } from "./place.js";

/** The locks that somebody looks at: of these the nodes are read, as soon as they are there. */
export class Attention {
  readonly #book: LockBook;
  readonly #want: (place: Place) => void;
  /** By key, how many look. */
  readonly #lookers = new Map<string, number>();

  constructor(book: LockBook, want: (place: Place) => void) {
    this.#book = book;
    this.#want = want;
  }

  keys(): string[] {
    return [...this.#lookers.keys()];
  }

  attend(keys: readonly string[]): { update(keys: readonly string[]): void; end(): void } {
    let mine: ReadonlySet<string> = new Set();
    const update = (wanted: readonly string[]): void => {
      const next = new Set(wanted);
      for (const key of next) if (!mine.has(key)) this.#look(key);
      for (const key of mine) if (!next.has(key)) this.#leave(key);
      mine = next;
    };
    update(keys);
    return { update, end: () => update([]) };
  }

  /** A lock may be made after somebody began to look at its place. */
  noticed(key: string): void {
    if (this.#lookers.has(key)) this.#mark(key);
  }

  #look(key: string): void {
    this.#lookers.set(key, (this.#lookers.get(key) ?? 0) + 1);
    this.#mark(key);
  }

  #mark(key: string): void {
    const place = this.#book.mirror.get(key);
    if (place === undefined || place.attended) return;
    place.attended = true;
    this.#want(place);
  }

  #leave(key: string): void {
    const left = (this.#lookers.get(key) ?? 1) - 1;
    if (left > 0) {
      this.#lookers.set(key, left);
      return;
    }
    this.#lookers.delete(key);
    const place = this.#book.mirror.get(key);
    if (place !== undefined) place.attended = false;
  }
}
