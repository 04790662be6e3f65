import type { CollectorEvent } from "../observe/collector.js";
import { Warnings } from "./warnings.js";

type Listener = (event: CollectorEvent) => void;

/**
 * The listeners that `onEvent` was given. One that throws becomes a process warning, once for the same error, and the others hear the event all
 * the same.
 */
export class Listeners {
  readonly #all = new Set<Listener>();
  readonly #warnings = new Warnings();

  /** The result removes it. A listener that is added twice hears everything twice. */
  add(listener: Listener): () => void {
    const own: Listener = (event) => listener(event);
    this.#all.add(own);
    return () => this.#all.delete(own);
  }

  emit(event: CollectorEvent): void {
    for (const listener of this.#all) {
      try {
        listener(event);
      } catch (error) {
        this.#warnings.warn(`a listener of a collector threw: ${String(error)}`);
      }
    }
  }

  clear(): void {
    this.#all.clear();
  }
}
