import { systemRuntime } from "@holdfast/core";
import { zookeeperLocks } from "@holdfast/zk-recipes";
import { openSession, parseConnectString, saysNoNode } from "@holdfast/zk-recipes/internal";
import { expect, onTestFinished, test } from "vitest";
import type { Crew } from "../../src/engine/crew.js";
import { faults } from "../../src/engine/faults/registry.js";
import { Random } from "../../src/engine/random.js";
import { Tally } from "../../src/engine/tally.js";
import { startServers } from "../../src/engine/topologies/registry.js";
import { pathsOf } from "../../src/workload/recipes/zookeeper-paths.js";

const key = { id: "k1", name: "chaos-k1", kind: "mutex", backend: "zookeeper", leaseMs: 4_000 } as const;

test("parents that were removed less often than planned when the run ends did not come to pass", async () => {
  const set = await startServers({ kind: "zookeeper", members: 1 });
  onTestFinished(() => set.close());
  if (set.addresses.kind !== "zookeeper") throw new Error("no ZooKeeper");
  const { connect } = set.addresses;
  const locks = zookeeperLocks({ connect });
  await (await locks.mutex(key.name).acquire()).release();
  await locks.close();
  const { servers } = parseConnectString(connect);
  const session = openSession({ servers, sessionTimeoutMs: 10_000, runtime: systemRuntime });
  onTestFinished(() => session.close());
  await session.whenConnected({ waitMs: 5_000 });
  const [path = ""] = pathsOf(key);
  const isGone = () => session.request("exists", { path, watch: false }).then(() => false, saysNoNode);
  const over = new AbortController();
  const removing = faults["zk.remove-parents"]?.begin({
    planned: { fault: "zk.remove-parents", target: key.id, atMs: 0, options: { times: 3 } },
    set,
    crew: { keys: [key] } as unknown as Crew,
    tally: new Tally(),
    random: new Random(1, "test"),
    signal: over.signal,
    begins: () => {},
    missed: () => {},
  });
  await expect.poll(isGone).toBe(true);
  over.abort();
  await expect(removing).rejects.toThrow("k1 was without a client 1 times and not 3");
});
