/**
 * The messages on the shop's socket: one JSON text a line, and each request is answered in order. A token is a decimal
 * string, because JSON has no integers of 64 bits.
 */
export type ShopRequest =
  | { readonly op: "restock"; readonly items: number }
  | { readonly op: "look" }
  | { readonly op: "sell"; readonly buyer: string; readonly token: string | null }
  | { readonly op: "report" };

export interface Sale {
  readonly sold: boolean;
  /** The stock after the sale, or the unchanged stock if the sale was refused. */
  readonly stock: number;
  /** The largest token that was admitted so far; `null` if there was none. */
  readonly highestToken: string | null;
}

export interface ShopReport {
  readonly stock: number;
  /** The lowest stock since the last `restock`. */
  readonly lowestStock: number;
  /** The buyers of the items, in the order of the sales. */
  readonly buyers: readonly string[];
  /** Sales that the gate refused. */
  readonly refused: number;
}

export interface ShopAnswers {
  restock: null;
  look: number;
  sell: Sale;
  report: ShopReport;
}
