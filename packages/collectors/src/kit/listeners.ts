import { messageOf } from "@holdfast/core/internal";
import type { CollectorEvent } from "../observe/collector.js";
import { Warnings } from "./warnings.js";

type Listener = (event: CollectorEvent) => void;

/**
 * The listeners that `onEvent` was given. An error that a listener throws becomes a process warning, once for the same
 * error. The other listeners still get the event.
 */
export class Listeners {
  readonly #all = new Set<Listener>();
  readonly #warnings = new Warnings();

  /** The returned function removes the listener. A listener that is added twice gets each event twice. */
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
        this.#warnings.warn(`a listener of a collector threw: ${messageOf(error)}`);
      }
    }
  }

  clear(): void {
    this.#all.clear();
  }
}
