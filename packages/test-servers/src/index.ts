export * from "./embedded/index.js";
export * from "./errors.js";
export { type EventuallyOptions, eventually } from "./eventually.js";
export { freePort, freePorts } from "./free-port.js";
export * from "./install/ensure.js";
export * from "./install/installs.js";
export type { SuiteHooks } from "./kit/suite-hooks.js";
export {
  type SuiteZkTestServerOptions,
  ZkTestServer,
  type ZkTestServerOptions,
  zkTestServer,
} from "./kit/zk-test-server.js";
export type { ServerPlace } from "./process/server-place.js";
export type { Counts, Ignored } from "./proxy/budget.js";
export type { FaultRules } from "./proxy/fault-rules.js";
export type { Direction } from "./proxy/link.js";
export { ProxyFaults } from "./proxy/proxy-faults.js";
export { RedisProxy, type RedisProxyOptions, startRedisProxy } from "./proxy/resp/redis-proxy.js";
export type { RespCounts, RespIgnored } from "./proxy/resp/resp-budget.js";
export { describeRespEntry, type RespEntry } from "./proxy/resp/resp-entry.js";
export type { RespAfterLoss, RespCutPoint, RespMatch, RespRule } from "./proxy/resp/resp-rule.js";
export { RespFailure, type RespKind, type RespValue } from "./proxy/resp/resp-value.js";
export type { DropOptions, EventMatch, FrameMatch, FrameRule, HoldOptions } from "./proxy/rules.js";
export {
  type PerDirection,
  type ProxyMode,
  type ProxyOptions,
  startProxy,
  TcpProxy,
} from "./proxy/tcp-proxy.js";
export { describeEntry, type TracedOp, type TraceEntry } from "./proxy/trace.js";
export {
  type ProxiedSession,
  startZooKeeperProxy,
  ZooKeeperProxy,
  type ZooKeeperProxyOptions,
} from "./proxy/zookeeper-proxy.js";
export {
  makeRedisCertificate,
  type RedisCertificate,
} from "./redis/certificate.js";
export { RedisCluster, type StartRedisClusterOptions, startRedisCluster } from "./redis/cluster.js";
export { hashSlot } from "./redis/hash-slot.js";
export { type RedisClientType, RedisNode, type RedisRole, type RestartOptions } from "./redis/node.js";
export {
  RedisConnection,
  type RedisConnectionOptions,
  RedisReplyError,
  type RedisWord,
} from "./redis/redis-connection.js";
export type { RedisOptions } from "./redis/redis-options.js";
export type { RedisProcess } from "./redis/redis-process.js";
export { RedisReplicaSet, startRedisReplicaSet, type UntilMasterOptions } from "./redis/replica-set.js";
export type { StartRedisReplicaSetOptions } from "./redis/replica-set-options.js";
export type { RedisSentinel } from "./redis/sentinel.js";
export type { SlotMove } from "./redis/slot-move.js";
export { type StartRedisOptions, startRedis } from "./redis/start.js";
export { type StartEnsembleOptions, startEnsemble, ZooKeeperEnsemble } from "./zookeeper/ensemble.js";
export { type ExpireSessionOptions, expireSession } from "./zookeeper/expire-session.js";
export {
  type FourLetterOptions,
  fourLetterWord,
  type ServerMode,
  type Srvr,
  srvr,
} from "./zookeeper/four-letter-word.js";
export { ZooKeeperNode } from "./zookeeper/node.js";
export type { ZooKeeperOptions } from "./zookeeper/node-files.js";
export { type StartZooKeeperOptions, startZooKeeper } from "./zookeeper/start.js";
