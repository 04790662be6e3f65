import type { Millis } from "@holdfast/core";

/** What the provider sets for the recipes; see `RedisLocksOptions` for what each of them does. */
export interface RecipeSettings {
  /** The number of the database, 0 in a cluster. */
  readonly db: number;
  readonly leaseMs: Millis;
  readonly replicas: number;
  readonly acks: number;
  readonly waitTimeoutMs: Millis;
  readonly commandTimeoutMs: Millis;
  /** 0 keeps token keys for ever. */
  readonly tokenTtlMs: Millis;
  readonly javaPeers: boolean;
  readonly heartbeatMs: Millis;
  /** How long a waiter counts as alive after it was heard. */
  readonly aliveMs: Millis;
  /** The lease of a hold that was handed over, until its first renewal. */
  readonly claimLeaseMs: Millis;
  readonly maxDirectRun: number;
  readonly fairLockWaitTimeoutMs: Millis;
  /** Whether the provider keeps locks for their next owners. */
  readonly keeps: boolean;
  /** How long a request that asks once stays behind a holder that may keep the lock for no owner. */
  readonly keepAskMs: Millis;
}

/**
 * How often a waiter that stands behind another says that it is still there. It asks for nothing, so this is as seldom as its place allows:
 * a request that takes as long as a server may be silent, and a timer that is late, still come before the alive window ends.
 */
export function stayMs({ heartbeatMs, aliveMs, commandTimeoutMs }: RecipeSettings): Millis {
  return Math.max(heartbeatMs, Math.floor(0.8 * (aliveMs - commandTimeoutMs)));
}
