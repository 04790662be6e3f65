export { checkZooKeeperCollector, type ZooKeeperCollectorOptions } from "./options.js";
export { type ZooKeeperCollector, zookeeperCollector } from "./zookeeper-collector.js";
