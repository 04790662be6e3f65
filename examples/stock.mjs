// A service that sells from a stock. Its caller passes the locks, so tests can pass locks of their own.

/** @import { LockProvider } from "@holdfast/core" */

export class Stock {
  /** @type {LockProvider} */
  #locks;
  /** @type {(item: string, signal: AbortSignal) => Promise<void>} */
  #ship;
  /** @type {Map<string, number>} */
  #left;

  /**
   * @param {LockProvider} locks
   * @param {Map<string, number>} left
   * @param {(item: string, signal: AbortSignal) => Promise<void>} ship
   */
  constructor(locks, left, ship) {
    this.#locks = locks;
    this.#left = left;
    this.#ship = ship;
  }

  /** @param {string} item */
  async sell(item) {
    return await this.#locks.mutex(`stock/${item}`).withLock({ waitMs: 2_000 }, async (_lock, { signal }) => {
      const left = this.#left.get(item) ?? 0;
      if (left === 0) return false;
      await this.#ship(item, signal);
      this.#left.set(item, left - 1);
      return true;
    });
  }
}
