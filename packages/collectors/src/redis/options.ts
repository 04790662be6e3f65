import { InvalidArgumentError, type Millis, type Runtime, systemRuntime } from "@holdfast/core";
import { checkKnownKeys, checkObject, show } from "@holdfast/core/internal";
import type { RedisLocksOptions } from "@holdfast/redis-recipes";
import { databaseOf, type RedisTarget, targetOf } from "@holdfast/redis-recipes/internal";
import type { StoryOptions } from "../observe/collector.js";

type ConnectionKey = "url" | "sentinels" | "cluster" | "client" | "username" | "password" | "tls" | "db";

const connectionKeys: readonly ConnectionKey[] = [
  "url",
  "sentinels",
  "cluster",
  "client",
  "username",
  "password",
  "tls",
  "db",
];

/**
 * Where the locks are and how often to look; exactly one of `url`, `sentinels`, `cluster` and `client`, as for `redisLocks`.
 */
export interface RedisCollectorOptions extends Pick<RedisLocksOptions, ConnectionKey>, StoryOptions {
  /**
   * Which keys are locks, as globs of SCAN over the lock's own key, such as `order:*`. All other keys are neither shown nor acted upon,
   * even where a client waits for them or a caller names them. Without a pattern there is no scan: the collector then sees locks with a
   * waiter on a channel, and locks that a caller names. One pattern lets the server filter; several are filtered here, which costs the
   * server about twice as much. Default: none.
   */
  readonly patterns?: readonly string[];
  /** SCAN calls in a second, for each master. Default 20: about 2 % of a core and 1,000,000 keys in 55 s. 0: no scan. */
  readonly scanCallsPerSecond?: number;
  /** COUNT of each call. Default 1,000. */
  readonly scanCount?: number;
  /** Milliseconds between two looks at the channels; default 2,000. */
  readonly channelsEveryMs?: Millis;
  /** Milliseconds between two reads of rows that are on screen; default 500. */
  readonly rowsEveryMs?: Millis;
  /** Redisson's option of that name, for the arithmetic of its fair queue when an action removes an entry. Milliseconds; default 300,000. */
  readonly fairLockWaitTimeoutMs?: Millis;
  /** Clocks and timers; simulations give their own. Default those of the process. */
  readonly runtime?: Runtime;
}

export interface ResolvedCollectorOptions {
  readonly target: RedisTarget;
  readonly db: number;
  readonly patterns: readonly string[];
  readonly scanCallsPerSecond: number;
  readonly scanCount: number;
  readonly channelsEveryMs: Millis;
  readonly rowsEveryMs: Millis;
  readonly fairLockWaitTimeoutMs: Millis;
  readonly identifyHolders: boolean;
  readonly earlierSight: NonNullable<StoryOptions["earlierSight"]>;
  readonly runtime: Runtime;
}

const ownKeys = [
  "patterns",
  "scanCallsPerSecond",
  "scanCount",
  "channelsEveryMs",
  "rowsEveryMs",
  "fairLockWaitTimeoutMs",
  "identifyHolders",
  "earlierSight",
  "runtime",
] as const satisfies readonly (keyof RedisCollectorOptions)[];

/** Throws `InvalidArgumentError` for options that cannot be right, before any I/O. */
export function resolveCollectorOptions(given: RedisCollectorOptions): ResolvedCollectorOptions {
  const what = "redisCollector";
  checkObject(`${what}: options`, given);
  const options: RedisCollectorOptions = given ?? {};
  checkKnownKeys(what, options, new Set([...connectionKeys, ...ownKeys]));
  const patterns = options.patterns ?? [];
  if (!Array.isArray(patterns) || !patterns.every((each) => typeof each === "string" && each !== "")) {
    throw new InvalidArgumentError(`${what}: patterns must be globs, each not empty; got ${show(patterns)}`);
  }
  const number = (key: (typeof ownKeys)[number], byDefault: number, least: number): number => {
    const value = options[key] ?? byDefault;
    if (typeof value === "number" && Number.isFinite(value) && value >= least) return value;
    throw new InvalidArgumentError(`${what}: ${key} must be a number, ${least} or more; got ${show(value)}`);
  };
  const access = Object.fromEntries(
    connectionKeys.filter((key) => options[key] !== undefined).map((key) => [key, options[key]]),
  );
  const target = targetOf(access as RedisLocksOptions);
  return {
    target,
    db: databaseOf(target),
    patterns,
    scanCallsPerSecond: number("scanCallsPerSecond", 20, 0),
    scanCount: number("scanCount", 1_000, 1),
    channelsEveryMs: number("channelsEveryMs", 2_000, 50),
    rowsEveryMs: number("rowsEveryMs", 500, 50),
    fairLockWaitTimeoutMs: number("fairLockWaitTimeoutMs", 300_000, 1),
    identifyHolders: options.identifyHolders ?? false,
    earlierSight: options.earlierSight ?? (() => undefined),
    runtime: options.runtime ?? systemRuntime,
  };
}

/**
 * Checks options without connecting. Throws the `InvalidArgumentError` that `redisCollector` would throw for these options.
 */
export function checkRedisCollector(options: RedisCollectorOptions): void {
  resolveCollectorOptions(options);
}
