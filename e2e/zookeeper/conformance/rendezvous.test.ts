import {
  barrierConformance,
  countDownLatchConformance,
  doubleBarrierConformance,
} from "@holdfast/core/testing";
import { onBothServers } from "./servers.js";

onBothServers((fixture) => {
  countDownLatchConformance("ZooKeeper", fixture());
  barrierConformance("ZooKeeper", fixture());
  doubleBarrierConformance("ZooKeeper", fixture());
});
