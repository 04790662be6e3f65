import type { LockProvider } from "./provider.js";
import type { FencingToken } from "./values.js";

/**
 * A resource's side of fencing, in the memory of the one process that has the resource. A gate in the process of each writer
 * refuses nothing, because that of a late writer has not seen the later token. A resource in SQL does the same with one statement:
 * `update ... set fence = :token ... where fence <= :token`.
 */
export interface TokenGate {
  /**
   * Says whether a writer with this token may write. `true`: the gate has seen no larger token for `resource`; it remembers
   * this one. `false`: the gate has seen a larger one, so the caller must not write, and the event `fencing-rejected` is
   * emitted. For tokens of writers only.
   *
   * `turn`: the `turn` of the handle, where writers fence by token and turn (`ProviderOptions.fenceBy`). Of two equal tokens
   * the one with the larger turn is the later. All writers of a resource pass it, or none does; default 0.
   *
   * Throws `InvalidArgumentError` for a turn that is no whole number from 0 to 65,535, for a token that is not a `bigint`, for a
   * resource that is not a string, and for a new resource when there are `maxResources` already.
   *
   * @example
   * ```ts
   * import { type FencingToken, tokenGate } from "@holdfast/core";
   *
   * const gate = tokenGate({ group: "prices", provider: locks });
   * const prices = new Map<string, number>();
   *
   * function setPrice(item: string, price: number, fence: FencingToken): void {
   *   if (!gate.admit(item, fence)) throw new Error("a later holder has written already");
   *   prices.set(item, price);
   * }
   * ```
   */
  admit(resource: string, token: FencingToken, turn?: number): boolean;
}

/** What `tokenGate()` takes. */
export interface TokenGateOptions {
  /** The name of this gate in the event `fencing-rejected` and in its metric. Default `"default"`. */
  group?: string;
  /** The provider whose `events` report rejections. Default: none, and only the diagnostics channel reports them. */
  provider?: LockProvider;
  /**
   * How many resources the gate remembers; a whole number from 1, default 100,000. For one more resource `admit()` throws
   * `InvalidArgumentError`, because the gate must not forget a token.
   */
  maxResources?: number;
}
