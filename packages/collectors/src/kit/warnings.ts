import { messageOf } from "@holdfast/core/internal";

/** The most different texts that one object reports. */
const most = 100;

/**
 * Emits the process warnings of one object. Their number is limited and each text comes once, because a failure may repeat
 * for ever.
 */
export class Warnings {
  readonly #said = new Set<string>();

  warn(message: string): void {
    if (this.#said.has(message) || this.#said.size >= most) return;
    this.#said.add(message);
    process.emitWarning(message, { type: "HoldfastWarning" });
  }

  /** Reports the failure of work that nothing awaits. `what` says what the failure means. */
  watch(what: string, work: Promise<unknown>): void {
    work.catch((error: unknown) => this.warn(`${what}: ${messageOf(error)}`));
  }
}
