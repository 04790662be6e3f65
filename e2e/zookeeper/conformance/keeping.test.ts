import { keepingConformance, keepingOptions } from "@holdfast/conformance";
import { onBothServers } from "./servers.js";

onBothServers((fixture, chosen) => {
  keepingConformance("ZooKeeper", fixture({ options: keepingOptions }), { chosen });
});
