import { derivedMutexConformance, mutexConformance, reentrantMutexConformance } from "@holdfast/conformance";
import type { ZooKeeperLocks } from "@holdfast/zk-recipes";
import { startCurator, takeMutex } from "./curator.js";
import { onBothServers } from "./servers.js";

const curator = startCurator();
const foreign = { curator, take: takeMutex };

onBothServers((fixture, chosen) => {
  mutexConformance("ZooKeeper", fixture({ foreign }), { foreign: true, losesAnswers: true, chosen });
  reentrantMutexConformance("ZooKeeper", fixture({ foreign }), { foreign: true, chosen });
  derivedMutexConformance(
    "ZooKeeper",
    "naive mutex",
    (provider, name) => (provider as ZooKeeperLocks).naiveMutex(name),
    fixture({ waitersHidden: true }),
    { fairness: "none", chosen },
  );
});
