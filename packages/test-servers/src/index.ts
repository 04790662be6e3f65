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
export type { Counts, Ignored } from "./proxy/budget.js";
export type { FaultRules } from "./proxy/fault-rules.js";
export type { Direction } from "./proxy/link.js";
export { ProxyFaults } from "./proxy/proxy-faults.js";
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
