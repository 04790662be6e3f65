/** Different texts. */
const most = 100;

/** The process warnings of one object: each text once, and so many at most, because what fails may do so again and again. */
export class Warnings {
  readonly #said = new Set<string>();

  warn(message: string): void {
    if (this.#said.has(message) || this.#said.size >= most) return;
    this.#said.add(message);
    process.emitWarning(message, { type: "HoldfastWarning" });
  }
}
