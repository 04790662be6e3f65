import type { Topology } from "../scenario.js";
import { startMasters } from "./masters.js";
import { startRedisSet } from "./redis.js";
import { startReplicated } from "./replicated.js";
import type { ServerSet } from "./server-set.js";
import { startZooKeeperSet } from "./zookeeper.js";

export type StartSet = (topology: Topology) => Promise<ServerSet>;

const none: StartSet = async (topology) => ({
  topology,
  versions: {},
  addresses: { kind: "none" },
  servers: [],
  link: async () => {
    throw new Error("a scenario without servers has no workers");
  },
  observer: async () => {
    throw new Error("a scenario without servers has no backend to look at");
  },
  heal: async () => {},
  logs: () => [],
  close: async () => {},
});

/** The function that starts the servers of a topology, by its `kind`. */
const topologies: Partial<Record<Topology["kind"], StartSet>> = {
  none,
  zookeeper: startZooKeeperSet,
  redis: startRedisSet,
  replicated: startReplicated,
  masters: startMasters,
};

/** The kinds of servers that `startServers` knows. */
export const startedKinds: readonly string[] = Object.keys(topologies);

/** Starts the servers of a topology, and resolves when they serve. Rejects if this machine lacks what they need. */
export async function startServers(topology: Topology): Promise<ServerSet> {
  const start = topologies[topology.kind];
  if (start === undefined) {
    throw new Error(
      `servers of kind ${topology.kind} cannot be started: the kinds are ${startedKinds.join(", ")}`,
    );
  }
  return await start(topology);
}
