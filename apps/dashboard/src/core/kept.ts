/**
 * One answer for all callers within a while, and one question to the backend for any number of callers. A failure is
 * not kept.
 */
export class Kept<T> {
  readonly #ask: () => Promise<T>;
  readonly #keepMs: number;
  readonly #now: () => number;
  #asked: { readonly atMs: number; readonly answer: Promise<T> } | undefined;

  constructor(ask: () => Promise<T>, keepMs: number, now: () => number) {
    this.#ask = ask;
    this.#keepMs = keepMs;
    this.#now = now;
  }

  get(): Promise<T> {
    const asked = this.#asked;
    const ageMs = asked === undefined ? 0 : this.#now() - asked.atMs;
    // An age below 0 means that the clock was set back, and the age of the answer cannot be known.
    if (asked !== undefined && ageMs >= 0 && ageMs < this.#keepMs) return asked.answer;
    const answer = this.#ask();
    const mine = { atMs: this.#now(), answer };
    this.#asked = mine;
    answer.catch(() => {
      if (this.#asked === mine) this.#asked = undefined;
    });
    return answer;
  }
}
