// All of core, so that a service installs and imports one package.
export * from "@holdfast/core";
export type { Acl } from "@holdfast/zk-protocol";
export { openAcl, Perms } from "@holdfast/zk-protocol";
export type { ZooKeeperLocksOptions } from "./provider/options.js";
export {
  type ZooKeeperElectionOptions,
  type ZooKeeperLocks,
  zookeeperLocks,
} from "./provider/zookeeper-locks.js";
export type {
  AtomicLong,
  GroupMember,
  GroupMembership,
  GuardedCreate,
  GuardedDelete,
  GuardedOp,
  GuardedSet,
  SharedValue,
  Versioned,
} from "./values/api.js";
