/** A repeatable sequence of numbers from 0 to 1 (mulberry32) with its seed. Print the seed: with it a run can be repeated. */
export class Chance {
  readonly seed: number;
  #state: number;

  /** `HOLDFAST_SEED` in the environment repeats a run. */
  constructor(seed: number = Number(process.env.HOLDFAST_SEED ?? Date.now() % 1_000_000)) {
    this.seed = seed;
    this.#state = seed;
  }

  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  between(from: number, to: number): number {
    return from + (to - from) * this.next();
  }

  /** `count` different elements of `all`, in their order; all of them if there are no more. */
  sample<T>(all: readonly T[], count: number): T[] {
    const rest = all.map((_, index) => index);
    while (rest.length > count) rest.splice(Math.floor(this.next() * rest.length), 1);
    return rest.map((index) => all[index] as T);
  }
}

/** A length that is adjusted until two outcomes are equally likely. Its steps grow while the same outcome repeats. */
export class Balance {
  value: number;
  readonly #firstStep: number;
  #step: number;
  #up: boolean | null = null;

  constructor(value: number, step: number) {
    this.value = value;
    this.#firstStep = step;
    this.#step = step;
  }

  more(): void {
    this.#move(true);
  }

  less(): void {
    this.#move(false);
  }

  #move(up: boolean): void {
    this.#step = this.#up === up ? this.#step * 1.3 : this.#firstStep;
    this.#up = up;
    this.value += up ? this.#step : -this.#step;
  }
}

/** Resolves after `ms` of the monotonic clock. It is finer than a timer, for races of fractions of a millisecond. */
export async function exactly(ms: number): Promise<void> {
  const endMs = performance.now() + ms;
  while (performance.now() < endMs) await new Promise((resolve) => setImmediate(resolve));
}
