import type { Millis } from "@holdfast/core";
import { defaultTimes, retryDelay, silenceMs } from "./settings.js";

/** Options of ioredis, version 5 or later. Times are in milliseconds. */
export interface SafeClientOptions {
  /** A command whose answer was lost is not sent again, so that it never runs twice. */
  readonly maxRetriesPerRequest: 0;
  /** With `maxRetriesPerRequest: 0` no command is left to send again. With `false`, ioredis 6.0.0 never settles a command whose connection broke. */
  readonly autoResendUnfulfilledCommands: true;
  /** A command fails while there is no connection. Queued, it would run after the lock that it belongs to is gone. */
  readonly enableOfflineQueue: false;
  /** Commands of locks are sent together already. */
  readonly enableAutoPipelining: false;
  /** How long a command may go without an answer: 1,000. */
  readonly commandTimeout: Millis;
  /** After so long without a byte the connection to a frozen server is dropped: 3,000. */
  readonly socketTimeout: Millis;
  /** How long one attempt to connect may take: 500. */
  readonly connectTimeout: Millis;
  /** With sentinels: a master that was replaced while it was frozen is left. */
  readonly failoverDetector: true;
  /** Pauses between attempts to connect are 200 ms at most, which a lease outlasts. */
  readonly retryStrategy: (times: number) => Millis;
  /** A primary behind a name is left when it becomes a replica. */
  readonly reconnectOnError: (error: Error) => boolean;
}

/**
 * Options that make a client of one's own safe for locks: with them `redisLocks({ client })` has no warning `HF_UNSAFE_OPTION` to emit. In a
 * cluster they are the `redisOptions`. Spread them first, and what is your own behind them; a provider with another `commandTimeoutMs` needs a
 * `commandTimeout` of at most five times that, and three times that as `socketTimeout`.
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
