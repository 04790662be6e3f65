import type { Millis } from "@holdfast/core";

/** The settings of a provider for its recipes; `RedisLocksOptions` describes each of them. */
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
  /** How long a waiter counts as alive after its last request. */
  readonly aliveMs: Millis;
  /** The lease of a hold that was handed over, until its first renewal. */
  readonly claimLeaseMs: Millis;
  readonly maxDirectRun: number;
  readonly fairLockWaitTimeoutMs: Millis;
  /** Whether the provider keeps locks for their next owners. */
  readonly keeps: boolean;
  /** How long a request that asks once stays queued behind a holder whose provider may only keep the lock. */
  readonly keepAskMs: Millis;
}

/**
 * How often a waiter behind another one reports that it is still there. It asks for nothing, so it reports as rarely as keeping
 * its place allows: a request that takes as long as a server may be silent, and a timer that is late, still come before the alive
 * window ends.
 */
export function stayMs({ heartbeatMs, aliveMs, commandTimeoutMs }: RecipeSettings): Millis {
  return Math.max(heartbeatMs, Math.floor(0.8 * (aliveMs - commandTimeoutMs)));
}
