import type { Barrier } from "../api/rendezvous.js";
import type { GrantEngine } from "../grants/engine.js";
import { show } from "../options/checks.js";
import type { Watched } from "../signals/observe-latest.js";
import { awaitValue } from "./await-value.js";
import { backendCall } from "./backend-call.js";
import { type WaitOptions, waitBounds } from "./wait-bounds.js";

/** A gate as a backend keeps it; `read()` resolves to `true` while it is shut. */
export interface BarrierStore extends Watched<boolean> {
  shut(): Promise<void>;
  open(): Promise<void>;
}

/**
 * A gate that is open until a client shuts it. It stays shut until a client opens it, even when the client that shut it is gone.
 */
export class BarrierView implements Barrier {
  readonly name: string;
  readonly #engine: GrantEngine;
  readonly #store: () => BarrierStore;

  constructor(engine: GrantEngine, name: string, store: () => BarrierStore) {
    this.name = name;
    this.#engine = engine;
    this.#store = store;
  }

  async shut(): Promise<void> {
    await backendCall(this.#engine, this.name, () => this.#store().shut());
  }

  async open(): Promise<void> {
    await backendCall(this.#engine, this.name, () => this.#store().open());
  }

  async wait(options?: WaitOptions): Promise<void> {
    const what = `the barrier ${show(this.name)}`;
    const bounds = waitBounds(this.#engine, "wait", what, this.name, options);
    const passed = () => awaitValue(this.#engine, bounds, this.#store(), (shut) => !shut);
    await backendCall(this.#engine, this.name, passed, bounds.signal);
  }
}
