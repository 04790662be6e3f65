// Re-exports all of core, so that a service installs and imports one package.
export * from "@holdfast/core";
export { type ReplicaShortage, TooFewReplicasError } from "./client/errors.js";
export type { IoredisClient } from "./client/given-client.js";
export { MissingRightError } from "./client/rights.js";
export { type SafeClientOptions, safeClientOptions } from "./client/safe-options.js";
export { ClusterNodeError, ServerTooOldError } from "./client/suitable.js";
export type { NatMap, RedisAddress } from "./client/target.js";
export type { RedisLocksOptions } from "./provider/options.js";
export { type PermitSemaphore, type RedisLocks, redisLocks } from "./provider/redis-locks.js";
export type {
  RedisClusterOptions,
  RedisSentinelOptions,
  RedisTargetOptions,
} from "./provider/target-options.js";
