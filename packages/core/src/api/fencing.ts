import type { LockProvider } from "./provider.js";
import type { FencingToken } from "./values.js";

/**
 * A resource's side of fencing, in memory. A resource in SQL does the same by one statement:
 * `update ... set fence = :token ... where fence <= :token`.
 */
export interface TokenGate {
  /**
   * `true` when no larger token was seen for `resource`: the gate remembers this one, and the caller may write. `false` when
   * a larger one was seen: the caller must not write, and the event `fencing-rejected` is emitted. For tokens of writers
   * only. `turn`: that of the handle, where writers fence by token and turn (`ProviderOptions.fenceBy`): of equal tokens the larger turn
   * is the later. All writers of a resource give it, or none does; default 0. Throws `InvalidArgumentError` for a turn that is no whole
   * number from 0 to 65,535, for a token that is not a `bigint`, for a resource that is not a string, and for a
   * new resource when there are `maxResources` already.
   *
   * @example
   * ```ts
   * import { tokenGate } from "@holdfast/core";
   *
   * const gate = tokenGate({ group: "orders", provider: locks });
   * await using lock = await locks.mutex("orders/42").acquire();
   * if (gate.admit("orders/42", lock.token ?? 0n)) await charge(order, { fence: lock.token, signal: lock.lost });
   * ```
   */
  admit(resource: string, token: FencingToken, turn?: number): boolean;
}

/** What `tokenGate()` takes. */
export interface TokenGateOptions {
  /** What the event `fencing-rejected` and its metric call this gate. Default `"default"`. */
  group?: string;
  /** The provider whose `events` report rejections. Default: none, and only the diagnostics channel reports them. */
  provider?: LockProvider;
  /**
   * How many resources the gate remembers; a whole number from 1, default 100,000. For one more, `admit()` throws
   * `InvalidArgumentError` rather than forget a token.
   */
  maxResources?: number;
}
