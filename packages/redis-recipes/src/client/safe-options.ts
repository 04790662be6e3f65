import type { Millis } from "@holdfast/core";
import { defaultTimes, retryDelay, silenceMs } from "./settings.js";

/** Options of ioredis, version 5 or later. Times are in milliseconds. */
export interface SafeClientOptions {
  /** A command whose answer was lost is not sent again, so that it never runs twice. */
  readonly maxRetriesPerRequest: 0;
  /**
   * `true`: with `maxRetriesPerRequest: 0` no command is left to send again. With `false`, ioredis 6.0.0 never settles a command
   * whose connection broke.
   */
  readonly autoResendUnfulfilledCommands: true;
  /** A command fails while there is no connection. If it were queued, it would run after the lock that it belongs to is gone. */
  readonly enableOfflineQueue: false;
  /** Commands of locks are already sent together. */
  readonly enableAutoPipelining: false;
  /** How long a command may go without an answer: 1,000. */
  readonly commandTimeout: Millis;
  /** The connection to a frozen server is dropped after this time without a byte: 3,000. */
  readonly socketTimeout: Millis;
  /** How long one attempt to connect may take: 500. */
  readonly connectTimeout: Millis;
  /** With sentinels: leaves a master that was replaced while it was frozen. */
  readonly failoverDetector: true;
  /** Pauses between attempts to connect are at most 200 ms, which a lease outlasts. */
  readonly retryStrategy: (times: number) => Millis;
  /** Leaves a primary behind a name when it becomes a replica. */
  readonly reconnectOnError: (error: Error) => boolean;
}

/**
 * Options that make your own client safe for locks: with them `redisLocks({ client })` emits no warning `HF_UNSAFE_OPTION`. In a
 * cluster they are the `redisOptions`. Spread them first, and put your own options behind them. If the provider has another
 * `commandTimeoutMs`, set `commandTimeout` to at most five times that value, and `socketTimeout` to three times that value.
 *
 * @example
 * ```ts
 * import { redisLocks, safeClientOptions } from "@holdfast/redis-recipes";
 * import { Redis } from "ioredis";
 *
 * const client = new Redis({ ...safeClientOptions, host: "127.0.0.1", port: 6379 });
 * const locks = redisLocks({ client });
 * ```
 */
export const safeClientOptions: SafeClientOptions = Object.freeze({
  maxRetriesPerRequest: 0,
  autoResendUnfulfilledCommands: true,
  enableOfflineQueue: false,
  enableAutoPipelining: false,
  commandTimeout: defaultTimes.commandTimeoutMs,
  socketTimeout: silenceMs(defaultTimes),
  connectTimeout: defaultTimes.dialTimeoutMs,
  failoverDetector: true,
  retryStrategy: retryDelay,
  reconnectOnError: ({ message }: Error) => message.startsWith("READONLY"),
});
