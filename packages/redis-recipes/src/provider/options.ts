import { InvalidArgumentError, type Millis, type ProviderOptions } from "@holdfast/core";
import {
  checkBoolean,
  checkMillis,
  checkString,
  type ResolvedProviderOptions,
  resolveProviderOptions,
  show,
} from "@holdfast/core/internal";
import { defaultTimes } from "../client/settings.js";
import { databaseOf, type RedisTarget } from "../client/target.js";
import type { RecipeSettings } from "../recipes/requests/settings.js";
import { type RedisTargetOptions, targetOf } from "./target-options.js";

/**
 * The options of `redisLocks()`: exactly one of `url`, `sentinels`, `cluster` and `client`, and options that all have a default.
 */
export interface RedisLocksOptions extends ProviderOptions, RedisTargetOptions {
  /**
   * How long a hold lasts after its grant and after each renewal. A hold therefore outlives a client that has died by at most
   * this time. Milliseconds, from 100 to 2^31 seconds; below 100 a number of seconds was probably meant. The option `leaseMs` of
   * an acquire has the same bounds. Default 30,000, as Redisson's `lockWatchdogTimeout`.
   */
  readonly leaseMs?: Millis;
  /**
   * How long one attempt to connect to a server or a sentinel may take. Milliseconds, from 50 to `connectTimeoutMs`; default 500.
   * An address that does not answer delays a failover by that long. A client of your own uses its `connectTimeout` instead.
   */
  readonly dialTimeoutMs?: Millis;
  /**
   * How long the server may be silent before the unanswered requests count as unknown; holdfast then asks the server about them.
   * Milliseconds; default 1,000. Raise it for links that are slow or far.
   *
   * At least 100, and at most a third of `leaseMs`, so that an unanswered renewal leaves time for the next one. Also at most
   * `aliveMs - heartbeatMs`, which is how long a waiter that cannot reach the server keeps its place. Only the default may be
   * above both limits. A connection that is silent for 3 times as long, 3 s at the least, is dropped.
   */
  readonly commandTimeoutMs?: Millis;
  /** Text in front of every lock name, as a `NameMapper` of Redisson may add. Default none. */
  readonly keyPrefix?: string;

  /**
   * How many replicas the master has; in a cluster, each master. Default 0. It is checked when connecting, and with `acks` also
   * each second afterwards.
   */
  readonly replicas?: number;
  /**
   * How many of `replicas` must have the write of a grant before the caller gets the grant. `"all"` means all configured
   * replicas, not all that happen to be connected. Default `"none"`.
   *
   * If fewer are connected, an acquire rejects at once with `TooFewReplicasError`, which is not retried; so does the acquire of a
   * waiter whose turn comes then. With this option a failover loses fewer grants, but still some: only a consensus protocol loses
   * none (measured in docs/replication.md).
   */
  readonly acks?: "none" | "all" | number;
  /** How long a grant waits for its replicas. Milliseconds; default 1,000, as Redisson's `slavesSyncTimeout`. */
  readonly waitTimeoutMs?: Millis;

  /**
   * Cluster only: whether Redisson's channels are sharded, as with its `shardedSubscriptionMode`. `"auto"` (default) asks the
   * server, as Redisson 3.22 and later do. `"on"` assumes sharded channels without asking; `"off"` is for fleets of older
   * versions.
   */
  readonly shardedPubSub?: "auto" | "on" | "off";

  /**
   * How long the key that counts the fencing tokens of a name is kept after the last grant. Milliseconds, at least 100 leases;
   * default: the longer of 100 leases and 1 hour. 0: for ever.
   *
   * Without that key the next token is the server's time in microseconds, which is higher than all earlier tokens unless the
   * server's clock was set back. The key protects only against that case, and costs some 150 bytes for each name. Choose 0 if
   * only Redisson's `RFencedLock` takes a name for longer than this time, since it does not renew the key.
   */
  readonly tokenTtlMs?: Millis;
  /**
   * Whether Java clients take the same locks. `true` (default): after `maxDirectRun` hand-offs in a row between clients of
   * holdfast a Java client gets its chance. `false`: the number of hand-offs in a row has no limit, except among writers of a
   * read-write lock, where no reader could enter.
   */
  readonly javaPeers?: boolean;
  /**
   * How often the first waiter of a queue asks whether its turn has come. Milliseconds; default 1,000. A waiter behind it only
   * reports that it still waits, once in `0.8 * (aliveMs - commandTimeoutMs)` and not more often than this.
   */
  readonly heartbeatMs?: Millis;
  /**
   * How long a waiter keeps its place after such a request, by the server's clock. Milliseconds, at least twice `heartbeatMs`;
   * default: the longer of 3,500 and 3.5 times `heartbeatMs`.
   */
  readonly aliveMs?: Millis;
  /**
   * The lease of a lock that was handed to the next waiter, until that client renews it to `leaseMs`. Milliseconds, at least 500;
   * default 3,000.
   */
  readonly claimLeaseMs?: Millis;
  /** How many hand-offs may follow each other before Java clients get their chance. A whole number; default 8. */
  readonly maxDirectRun?: number;
  /**
   * Redisson's `fairLockWaitTimeout`; must be the same as in the Java clients that share locks. Milliseconds; default 300,000.
   */
  readonly fairLockWaitTimeoutMs?: Millis;
}

export interface ResolvedRedisOptions extends RecipeSettings {
  readonly common: ResolvedProviderOptions;
  readonly target: RedisTarget;
  readonly dialTimeoutMs: Millis;
  readonly keyPrefix: string;
  readonly shardedPubSub: "auto" | "on" | "off";
}

const ownKeys = [
  "url",
  "sentinels",
  "cluster",
  "client",
  "username",
  "password",
  "tls",
  "db",
  "leaseMs",
  "dialTimeoutMs",
  "commandTimeoutMs",
  "keyPrefix",
  "replicas",
  "acks",
  "waitTimeoutMs",
  "shardedPubSub",
  "tokenTtlMs",
  "javaPeers",
  "heartbeatMs",
  "aliveMs",
  "claimLeaseMs",
  "maxDirectRun",
  "fairLockWaitTimeoutMs",
] as const satisfies readonly (keyof RedisLocksOptions)[];

const hourMs: Millis = 3_600_000;

/**
 * Checks all options before any I/O. Throws `InvalidArgumentError`, which names `factory`, the option and the values that it
 * takes.
 */
export function resolveOptions(given: RedisLocksOptions, factory = "redisLocks"): ResolvedRedisOptions {
  // Untyped callers may pass nothing.
  const options = given === undefined ? {} : given;
  const of = (key: keyof RedisLocksOptions) => `${factory}: ${key}`;
  const common = resolveProviderOptions(factory, options, ownKeys, { keeps: true });
  for (const key of wholeMillis) checkMillis(of(key), options[key], { minimumMs: 1, infinite: false });
  checkMillis(of("tokenTtlMs"), options.tokenTtlMs, { minimumMs: 0, infinite: false });
  checkMillis(of("claimLeaseMs"), options.claimLeaseMs, { minimumMs: leastClaimLeaseMs, infinite: false });
  for (const key of [...wholeMillis, "tokenTtlMs"] as const) checkWhole(of(key), options[key], 0);
  checkString(of("keyPrefix"), options.keyPrefix);
  checkBoolean(of("javaPeers"), options.javaPeers);
  checkWhole(of("maxDirectRun"), options.maxDirectRun, 1);
  checkWhole(of("replicas"), options.replicas, 0);
  const target = targetOf(options, factory);
  const leaseMs = options.leaseMs ?? 30_000;
  checkLease(of("leaseMs"), leaseMs);
  checkWithin(of("keepMs"), options.keepMs, 0, { "a third of leaseMs": leaseMs / 3 });
  const heartbeatMs = options.heartbeatMs ?? 1_000;
  const aliveMs = aliveOf(of("aliveMs"), options.aliveMs, heartbeatMs);
  const replicas = options.replicas ?? 0;
  checkWithin(of("dialTimeoutMs"), options.dialTimeoutMs, 50, {
    connectTimeoutMs: common.connectTimeoutMs,
  });
  checkWithin(of("commandTimeoutMs"), options.commandTimeoutMs, 100, {
    "a third of leaseMs": leaseMs / 3,
    "aliveMs - heartbeatMs": aliveMs - heartbeatMs,
  });
  return {
    common,
    target,
    db: databaseOf(target),
    leaseMs,
    dialTimeoutMs: options.dialTimeoutMs ?? defaultTimes.dialTimeoutMs,
    commandTimeoutMs: options.commandTimeoutMs ?? defaultTimes.commandTimeoutMs,
    keyPrefix: options.keyPrefix ?? "",
    replicas,
    acks: acksOf(of("acks"), options.acks, replicas),
    waitTimeoutMs: options.waitTimeoutMs ?? 1_000,
    shardedPubSub: shardedPubSubOf(of("shardedPubSub"), options.shardedPubSub, target),
    tokenTtlMs: tokenTtlOf(of("tokenTtlMs"), options.tokenTtlMs, leaseMs),
    javaPeers: options.javaPeers ?? true,
    heartbeatMs,
    aliveMs,
    claimLeaseMs: options.claimLeaseMs ?? 3_000,
    maxDirectRun: options.maxDirectRun ?? 8,
    fairLockWaitTimeoutMs: options.fairLockWaitTimeoutMs ?? 300_000,
    keeps: common.keepMs > 0,
    keepAskMs: common.keepAskMs,
  };
}

/** Must be whole numbers, since they are passed to scripts or timers unchanged. */
const wholeMillis = [
  "leaseMs",
  "dialTimeoutMs",
  "commandTimeoutMs",
  "waitTimeoutMs",
  "heartbeatMs",
  "aliveMs",
  "claimLeaseMs",
  "fairLockWaitTimeoutMs",
] as const;

/**
 * A hold that was handed over ends unless it is renewed within this time. If it were below a round trip to a far server, no
 * waiter would ever get its lock.
 */
const leastClaimLeaseMs: Millis = 500;
/** A shorter lease is nearly always a number of seconds by mistake, and would be renewed dozens of times a second. */
const leastLeaseMs: Millis = 100;
/** 68 years. Redis refuses much longer times, and a script would have done half of its work by then. */
const mostLeaseMs: Millis = 2 ** 31 * 1_000;

/** Throws `InvalidArgumentError` for a lease that the scripts cannot set, or that is certainly a mistake. */
export function checkLease(what: string, leaseMs: Millis): void {
  if (leaseMs >= leastLeaseMs && leaseMs <= mostLeaseMs) return;
  throw new InvalidArgumentError(
    `${what} must be from ${leastLeaseMs} to ${mostLeaseMs} ms on Redis; got ${show(leaseMs)}`,
    { backend: "redis" },
  );
}

function checkWhole(what: string, value: unknown, least: number): void {
  if (value === undefined || (Number.isSafeInteger(value) && (value as number) >= least)) return;
  throw new InvalidArgumentError(`${what} must be a whole number, ${least} or more; got ${show(value)}`);
}

/** Checks the bounds of a number of milliseconds. `most`: the upper bounds, by the names that the error uses. */
function checkWithin(
  what: string,
  given: Millis | undefined,
  leastMs: Millis,
  most: Readonly<Record<string, Millis>>,
): void {
  if (given === undefined) return;
  if (given < leastMs)
    throw new InvalidArgumentError(`${what} must be at least ${leastMs} ms; got ${show(given)}`);
  for (const [limit, mostMs] of Object.entries(most)) {
    if (given <= mostMs) continue;
    throw new InvalidArgumentError(
      `${what} must be at most ${limit} (${Math.floor(mostMs)} ms); got ${show(given)}`,
    );
  }
}

function acksOf(what: string, acks: RedisLocksOptions["acks"], replicas: number): number {
  if (acks === undefined || acks === "none") return 0;
  const count = acks === "all" ? replicas : acks;
  if (!Number.isInteger(count) || (acks !== "all" && count < 1)) {
    throw new InvalidArgumentError(
      `${what} must be "none", "all" or a whole number, 1 or more; got ${show(acks)}`,
    );
  }
  if (count < 1 || count > replicas) {
    throw new InvalidArgumentError(
      `${what}: ${show(acks)} counts against the option replicas, which is ${replicas}; set replicas to the number that each master has`,
    );
  }
  return count;
}

function shardedPubSubOf(
  what: string,
  mode: RedisLocksOptions["shardedPubSub"],
  target: RedisTarget,
): "auto" | "on" | "off" {
  if (mode !== undefined && !["auto", "on", "off"].includes(mode)) {
    throw new InvalidArgumentError(`${what} must be "auto", "on" or "off"; got ${show(mode)}`);
  }
  if (mode === "on" && target.kind !== "cluster" && target.kind !== "given-cluster") {
    throw new InvalidArgumentError(
      `${what}: Redisson uses sharded channels in a cluster alone; leave it out`,
    );
  }
  return mode ?? "auto";
}

function tokenTtlOf(what: string, given: Millis | undefined, leaseMs: Millis): Millis {
  const leastMs = 100 * leaseMs;
  if (given === undefined) return Math.max(hourMs, leastMs);
  if (given === 0 || given >= leastMs) return given;
  throw new InvalidArgumentError(
    `${what} must be 0 or at least 100 leases (${leastMs} ms), so that no token restarts while one is in use; got ${show(given)}`,
  );
}

function aliveOf(what: string, given: Millis | undefined, heartbeatMs: Millis): Millis {
  const aliveMs = given ?? Math.max(3_500, 3.5 * heartbeatMs);
  if (aliveMs >= 2 * heartbeatMs) return Math.round(aliveMs);
  throw new InvalidArgumentError(
    `${what} must be at least twice heartbeatMs (${heartbeatMs} ms), so that one late heartbeat costs no place; got ${show(given)}`,
  );
}
