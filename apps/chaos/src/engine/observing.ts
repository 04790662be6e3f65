import { pass } from "../workload/pass.js";
import type { WorkerKey } from "../workload/protocol.js";
import type { Recorder } from "./recorder.js";
import type { Observer } from "./topologies/server-set.js";

/** Observes the queues of keys again and again, and at the end what is left in the backend. */
export class Observing {
  readonly #observer: Observer;
  readonly #recorder: Recorder;
  readonly #everyMs: number;
  #running: Promise<void>[] = [];
  #on = false;

  constructor(observer: Observer, recorder: Recorder, everyMs = 100) {
    this.#observer = observer;
    this.#recorder = recorder;
    this.#everyMs = everyMs;
  }

  watch(keys: readonly WorkerKey[]): void {
    this.#on = true;
    this.#running = keys.map((key) => this.#follow(key));
  }

  async stop(): Promise<void> {
    this.#on = false;
    await Promise.all(this.#running);
  }

  /**
   * Looks a last time, when all clients are gone. What dead clients left disappears with their session or lease. So
   * this asks again until nothing is left or `withinMs` is over.
   */
  async scan(keys: readonly WorkerKey[], withinMs: number): Promise<void> {
    const endMs = performance.now() + withinMs;
    for (const key of keys) {
      let left: readonly string[] | null = null;
      let wrong: unknown = null;
      do {
        try {
          left = await this.#observer.left(key);
        } catch (error) {
          wrong = error;
          left = null;
        }
        if (left?.length === 0) break;
        await pass(100, null);
      } while (performance.now() < endMs);
      if (left === null) throw new Error(`what is left of ${key.id} cannot be seen: ${String(wrong)}`);
      this.#snapshot(key.id, { holders: [], queue: [], left });
    }
  }

  async #follow(key: WorkerKey): Promise<void> {
    while (this.#on) {
      try {
        this.#snapshot(key.id, await this.#observer.look(key));
      } catch {
        // The servers are down or elect a leader, so there is nothing to see. `fifo` reports how many waiters it saw.
      }
      await pass(this.#everyMs, null);
    }
  }

  #snapshot(
    key: string,
    state: { holders: readonly string[]; queue: readonly string[]; left?: readonly string[] },
  ): void {
    this.#recorder.record({ type: "snapshot", p: "observer", key, state });
  }
}
