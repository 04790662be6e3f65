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
import type { RedisTarget } from "../client/target.js";
import { checkLease } from "./lease.js";
import { type RedisTargetOptions, targetOf } from "./target-options.js";

/** Exactly one of `url`, `sentinels`, `cluster` and `client`, and what else there is to say. */
export interface RedisLocksOptions extends ProviderOptions, RedisTargetOptions {
  /**
   * How long a hold outlives its client, and what renewals renew to. From 100 ms, so that no seconds are taken for it, to 2^31
   * seconds; an acquire of its own `leaseMs` has the same bounds. Default 30,000, as Redisson's `lockWatchdogTimeout`.
   */
  readonly leaseMs?: Millis;
  /**
   * How long one attempt to connect may take, to a server or to a sentinel that is asked; default 500, from 50 to `connectTimeoutMs`.
   * An address that swallows packets delays a failover by that long. A client of your own has its `connectTimeout` instead.
   */
  readonly dialTimeoutMs?: Millis;
  /**
   * When the server has answered nothing for so long, what was asked before has an unknown outcome and is sorted out; default 1,000. For links that are slow or far. From
   * 100 to a third of `leaseMs`, so that a renewal without an answer leaves time for the next one, and to what a waiter's place
   * outlasts, `aliveMs - heartbeatMs`; the default alone may be above both. A connection that is silent for 3 times as long, 3 s at
   * the least, is dropped.
   */
  readonly commandTimeoutMs?: Millis;
  /** Put in front of every lock name, as a `NameMapper` of Redisson may do. Default none. */
  readonly keyPrefix?: string;

  /** How many replicas the master has, each master in a cluster. Default 0. Checked when connecting, and with `acks` each second from then on. */
  readonly replicas?: number;
  /**
   * How many of `replicas` must have a grant before it is one; `"all"` is all that are configured, not all that happen to be
   * connected. With fewer connected an acquire is refused at once with `TooFewReplicasError`, which is not tried again, and so is
   * a waiter whose turn comes then. Narrows what a failover can lose; nothing short of a consensus closes it (measured in
   * docs/replication.md). Default `"none"`.
   */
  readonly acks?: "none" | "all" | number;
  /** How long a grant waits for its replicas. Default 1,000, as Redisson's `slavesSyncTimeout`. */
  readonly waitTimeoutMs?: Millis;

  /**
   * Cluster only: whether Redisson's channels are sharded ones, as its `shardedSubscriptionMode`. `"auto"` (default) asks
   * the server as Redisson 3.22 and later do; `"off"` for fleets of older ones.
   */
  readonly shardedPubSub?: "auto" | "on" | "off";

  /**
   * How long the key with the last token of a name is kept after the last grant. Default the longer of 100 leases and 1 hour; at least
   * 100 leases. Without that key the next token is the server's time in microseconds, so that it still rises unless the server's clock
   * went back: the key guards against that alone, and costs some 150 bytes for each name. 0: for ever, for fleets in which
   * `RFencedLock` alone takes tokens for longer than that, as it does not renew this time.
   */
  readonly tokenTtlMs?: Millis;
  /** Whether Java clients contend for these names. Default `true`: runs of direct hand-offs are bounded by `maxDirectRun`. */
  readonly javaPeers?: boolean;
  /** How often a waiter shows that it is there. Default 1,000. */
  readonly heartbeatMs?: Millis;
  /** For how long that counts, by the server's clock. Default 3,500; at least twice `heartbeatMs`. */
  readonly aliveMs?: Millis;
  /** The lease of a hold that was handed over, until its new holder renews it. Default 3,000. */
  readonly claimLeaseMs?: Millis;
  /** Hand-offs in a row before Java clients get a chance. Default 8. */
  readonly maxDirectRun?: number;
  /** As Redisson's `fairLockWaitTimeout`: must be what the Java clients of the fleet have. Default 300,000. */
  readonly fairLockWaitTimeoutMs?: Millis;
}

export interface ResolvedRedisOptions {
  readonly common: ResolvedProviderOptions;
  readonly target: RedisTarget;
  readonly leaseMs: Millis;
  readonly dialTimeoutMs: Millis;
  readonly commandTimeoutMs: Millis;
  readonly keyPrefix: string;
  readonly replicas: number;
  /** 0: none. */
  readonly acks: number;
  readonly waitTimeoutMs: Millis;
  readonly shardedPubSub: "auto" | "on" | "off";
  /** 0: for ever. */
  readonly tokenTtlMs: Millis;
  readonly javaPeers: boolean;
  readonly heartbeatMs: Millis;
  readonly aliveMs: Millis;
  readonly claimLeaseMs: Millis;
  readonly maxDirectRun: number;
  readonly fairLockWaitTimeoutMs: Millis;
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

/** Checks all options at once, before any I/O. Throws `InvalidArgumentError` naming the option and what it takes. */
export function resolveOptions(given: RedisLocksOptions): ResolvedRedisOptions {
  // Untyped callers may give nothing at all.
  const options = given === undefined ? {} : given;
  const of = (key: keyof RedisLocksOptions) => `redisLocks: ${key}`;
  const common = resolveProviderOptions("redisLocks", options, ownKeys);
  for (const key of wholeMillis) checkMillis(of(key), options[key], { minimumMs: 1, infinite: false });
  checkMillis(of("tokenTtlMs"), options.tokenTtlMs, { minimumMs: 0, infinite: false });
  for (const key of [...wholeMillis, "tokenTtlMs"] as const) checkWhole(of(key), options[key], 0);
  checkString(of("keyPrefix"), options.keyPrefix);
  checkBoolean(of("javaPeers"), options.javaPeers);
  checkWhole(of("maxDirectRun"), options.maxDirectRun, 1);
  checkWhole(of("replicas"), options.replicas, 0);
  const target = targetOf(options);
  const leaseMs = options.leaseMs ?? 30_000;
  checkLease(of("leaseMs"), leaseMs);
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
  };
}

/** Given to scripts or timers as they are. */
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

function checkWhole(what: string, value: unknown, least: number): void {
  if (value === undefined || (Number.isSafeInteger(value) && (value as number) >= least)) return;
  throw new InvalidArgumentError(`${what} must be a whole number, ${least} or more; got ${show(value)}`);
}

/** `most`: what it must not be above, by what each of these is called. */
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
