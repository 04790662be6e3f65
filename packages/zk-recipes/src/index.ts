export type { Acl } from "@holdfast/zk-protocol";
export { openAcl, Perms } from "@holdfast/zk-protocol";
export * from "./core.js";
export type { ZooKeeperLocksOptions } from "./provider/options.js";
export {
  type ZooKeeperElectionOptions,
  type ZooKeeperLocks,
  zookeeperLocks,
} from "./provider/zookeeper-locks.js";
export type { AtomicLong, GroupMember, GroupMembership, SharedValue, Versioned } from "./values/api.js";
