import { InvalidArgumentError } from "../api/errors.js";
import type { BarrierMembership, DoubleBarrier } from "../api/rendezvous.js";
import type { GrantEngine } from "../grants/engine.js";
import { show } from "../options/checks.js";
import { type BarrierEntry, Membership } from "./barrier-membership.js";
import { type WaitBounds, type WaitOptions, waitBounds } from "./wait-bounds.js";

/** A double barrier as a backend keeps it. */
export interface DoubleBarrierStore {
  /**
   * Makes an entry, and resolves once `parties` members have one. When it rejects, the entry is taken back; if the server
   * does not answer, that goes on in the background.
   */
  enter(parties: number, bounds: WaitBounds): Promise<BarrierEntry>;
}

const mostParties = 2 ** 31 - 1;

/** No party starts before all have entered, and no party goes on before all are done. */
export class DoubleBarrierView implements DoubleBarrier {
  readonly name: string;
  readonly parties: number;
  readonly #engine: GrantEngine;
  readonly #store: DoubleBarrierStore;

  constructor(engine: GrantEngine, name: string, parties: number, store: DoubleBarrierStore) {
    if (!Number.isInteger(parties) || parties < 1 || parties > mostParties) {
      throw new InvalidArgumentError(
        `doubleBarrier: parties must be a whole number from 1 to ${mostParties}; got ${show(parties)}`,
      );
    }
    this.name = name;
    this.parties = parties;
    this.#engine = engine;
    this.#store = store;
  }

  async enter(options?: WaitOptions): Promise<BarrierMembership> {
    const { name } = this;
    const what = `the double barrier ${show(name)}`;
    const bounds = waitBounds(this.#engine, "enter", what, name, options);
    try {
      return new Membership(this.#engine, name, await this.#store.enter(this.parties, bounds));
    } catch (error) {
      if (bounds.signal?.aborted === true && error === bounds.signal.reason) throw error;
      throw this.#engine.typed(error, name);
    }
  }
}
