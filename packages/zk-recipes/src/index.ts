export type { Acl } from "@holdfast/zk-protocol";
export { openAcl, Perms } from "@holdfast/zk-protocol";
export type { ZooKeeperLocksOptions } from "./provider/options.js";
export { type ZooKeeperLocks, zookeeperLocks } from "./provider/zookeeper-locks.js";
