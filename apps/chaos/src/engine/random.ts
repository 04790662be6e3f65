/**
 * Streams of random numbers from one seed, one stream for each role (`nemesis`, `w0`, `proxy`...), so that an
 * additional worker shifts no other stream. mulberry32 over a hash of seed and role.
 */
export class Random {
  #state: number;

  constructor(seed: number, role: string) {
    let hash = seed >>> 0;
    for (const char of role) hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 0x01000193) >>> 0;
    this.#state = hash ^ 0x9e3779b9;
  }

  /** A number from 0 (included) to 1 (excluded). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number, both ends included. */
  between(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  pick<T>(from: readonly [T, ...T[]]): T {
    return from[this.between(0, from.length - 1)] ?? from[0];
  }
}
