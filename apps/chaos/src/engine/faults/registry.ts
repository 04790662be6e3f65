import type { FaultKind } from "./fault.js";
import { linkFaults } from "./link.js";
import { machineFaults } from "./machine.js";
import { netFaults } from "./net.js";
import { holderNetFaults } from "./net-holder.js";
import { sideFaults } from "./net-side.js";
import { plainRedisFaults } from "./redis.js";
import { redisFailovers } from "./redis-failover.js";
import { redisForgetting } from "./redis-forget.js";
import { redisLinkFaults } from "./redis-links.js";
import { redisOutages } from "./redis-outage.js";
import { serverFaults } from "./server.js";
import { sessionFaults } from "./session.js";
import { workerFaults } from "./worker.js";
import { zooKeeperFaults } from "./zookeeper.js";

/** The faults by the names that plans use. */
export const faults: Readonly<Record<string, FaultKind>> = {
  ...workerFaults,
  ...linkFaults,
  ...netFaults,
  ...holderNetFaults,
  ...sideFaults,
  ...machineFaults,
  ...serverFaults("server"),
  ...sessionFaults,
  ...zooKeeperFaults,
  ...plainRedisFaults,
  ...redisFailovers,
  ...redisForgetting,
  ...redisLinkFaults,
  ...redisOutages,
};
