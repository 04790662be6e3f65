import { derivedMutexConformance, semaphoreConformance } from "@holdfast/conformance";
import type { ZooKeeperLocks } from "@holdfast/zk-recipes";
import { startCurator, takePermit, takeSemaphoreMutex } from "./curator.js";
import { onBothServers } from "./servers.js";

const curator = startCurator();

onBothServers((fixture, chosen) => {
  semaphoreConformance("ZooKeeper", fixture({ foreign: { curator, take: takePermit } }), {
    foreign: true,
    chosen,
  });
  derivedMutexConformance(
    "ZooKeeper",
    "semaphore mutex",
    (provider, name) => (provider as ZooKeeperLocks).semaphoreMutex(name),
    fixture({ foreign: { curator, take: takeSemaphoreMutex } }),
    { foreign: true, chosen },
  );
});
