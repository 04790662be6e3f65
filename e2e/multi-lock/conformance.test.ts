import type { Fixture } from "@holdfast/conformance";
import { MemorySpace, memoryLocks } from "@holdfast/core";
import {
  multiLockAcrossConformance,
  multiLockConformance,
} from "../../packages/multi-lock/test/kit/conformance.js";
import { onBothServers } from "../zookeeper/conformance/servers.js";

/** A second backend of which only the locks are used. Holds are lost and contact is cut at ZooKeeper. */
async function companions(): Promise<Fixture> {
  const space = new MemorySpace();
  const unused = () => Promise.reject(new Error("the companion is left alone"));
  return { provider: async () => memoryLocks({ space }), loseHold: unused, partition: unused };
}

onBothServers((fixture, chosen) => {
  multiLockConformance("ZooKeeper", fixture(), { chosen });
  multiLockAcrossConformance("ZooKeeper and memory", fixture(), companions, { chosen });
});
