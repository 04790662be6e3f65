import {
  barrierConformance,
  countDownLatchConformance,
  doubleBarrierConformance,
} from "@holdfast/conformance";
import { onBothServers } from "./servers.js";

onBothServers((fixture) => {
  countDownLatchConformance("ZooKeeper", fixture());
  barrierConformance("ZooKeeper", fixture());
  doubleBarrierConformance("ZooKeeper", fixture());
});
