import {
  barrierConformance,
  countDownLatchConformance,
  doubleBarrierConformance,
  recordConformance,
} from "@holdfast/conformance";
import { onBothServers } from "./servers.js";

onBothServers((fixture, chosen) => {
  countDownLatchConformance("ZooKeeper", fixture(), { chosen });
  barrierConformance("ZooKeeper", fixture(), { chosen });
  doubleBarrierConformance("ZooKeeper", fixture(), { chosen });
  recordConformance("ZooKeeper", fixture(), { chosen });
});
