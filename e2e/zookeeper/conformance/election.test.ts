import { leaderElectionConformance } from "@holdfast/conformance";
import type { ZooKeeperLocks } from "@holdfast/zk-recipes";
import { leadByLatch, leadBySelector, startCurator } from "./curator.js";
import { onBothServers } from "./servers.js";

const curator = startCurator();

onBothServers((fixture, chosen) => {
  const latch = fixture({ foreign: { curator, take: leadByLatch } });
  leaderElectionConformance("ZooKeeper, LeaderLatch", latch, { foreign: true, chosen });
  const selector = fixture({ foreign: { curator, take: leadBySelector }, adapt: standAsSelectors });
  leaderElectionConformance("ZooKeeper, LeaderSelector", selector, { foreign: true, chosen });
});

/** Makes `selector` the default layout of this provider's elections. */
function standAsSelectors(provider: ZooKeeperLocks): void {
  const leaderElection = provider.leaderElection.bind(provider);
  provider.leaderElection = (name, options) => leaderElection(name, { layout: "selector", ...options });
}
