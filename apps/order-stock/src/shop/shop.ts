import { type TokenGate, tokenGate } from "@holdfast/core";
import type { Sale, ShopReport } from "./protocol.js";

/**
 * The protected resource: a stock of one article and the orders for it.
 *
 * `sell()` trusts its caller to have looked, as an `update stock set n = n - 1` does. The race that this example shows
 * lies between looking and selling. A sale that carries a fencing token passes the gate first.
 */
export class Shop {
  readonly #gate: TokenGate = tokenGate({ group: "order-stock" });
  #highestToken: bigint | null = null;
  #stock = 0;
  #lowestStock = 0;
  #buyers: string[] = [];
  #refused = 0;

  /** Sets a new stock and empties the order book. The gate remembers its tokens: an earlier token is still too old. */
  restock(items: number): void {
    this.#stock = items;
    this.#lowestStock = items;
    this.#buyers = [];
    this.#refused = 0;
  }

  look(): number {
    return this.#stock;
  }

  /** Takes one item, even one that is not there. With a token, it refuses the sale if it has seen a larger token. */
  sell(buyer: string, token: bigint | null): Sale {
    const admitted = token === null || this.#gate.admit("stock", token);
    if (admitted) {
      if (token !== null) this.#highestToken = token;
      this.#stock -= 1;
      this.#lowestStock = Math.min(this.#lowestStock, this.#stock);
      this.#buyers.push(buyer);
    } else {
      this.#refused += 1;
    }
    return { sold: admitted, stock: this.#stock, highestToken: this.#highestToken?.toString() ?? null };
  }

  report(): ShopReport {
    return {
      stock: this.#stock,
      lowestStock: this.#lowestStock,
      buyers: [...this.#buyers],
      refused: this.#refused,
    };
  }
}
