import type { LockProvider } from "./provider.js";
import type { FencingToken } from "./values.js";

/** A resource's side of fencing, in memory. For SQL and Redis resources the docs give the statement instead. */
export interface TokenGate {
  /**
   * `true` and remembered, unless a larger token was seen for `resource`; then `false` and `fencing-rejected`.
   * Writers only. Throws `InvalidArgumentError` for a token that is no `bigint`, for a resource that is no string,
   * and for one more resource than `maxResources`.
   */
  admit(resource: string, token: FencingToken): boolean;
}

/** What `tokenGate()` takes. */
export interface TokenGateOptions {
  /** Label of the event and the metric. Default `"default"`. */
  group?: string;
  /** Whose `events` report rejections; without it only the diagnostics channel does. */
  provider?: LockProvider;
  /** Throws `InvalidArgumentError` beyond it rather than forget a token. Default 100,000. */
  maxResources?: number;
}
