import { readWriteLockConformance, reentrantReadWriteLockConformance } from "@holdfast/conformance";
import { startCurator, takeWriteLock } from "./curator.js";
import { onBothServers } from "./servers.js";

const curator = startCurator();
const foreign = { curator, take: takeWriteLock };

onBothServers((fixture, chosen) => {
  readWriteLockConformance("ZooKeeper", fixture({ foreign }), { foreign: true, chosen });
  reentrantReadWriteLockConformance("ZooKeeper", fixture({ foreign }), { foreign: true, chosen });
});
