import type { LockHandle, LockProvider } from "@holdfast/core";
import type { Fixture } from "@holdfast/core/testing";
import { type RedisLocks, type RedisLocksOptions, redisLocks } from "@holdfast/redis-recipes";
import {
  type RedisCluster,
  type RedisNode,
  type RedisProxy,
  type RedisReplicaSet,
  startRedisProxy,
} from "@holdfast/test-servers";

/** Servers of which each client finds its own links, so that one client alone can be cut off. */
interface Topology {
  readonly nodes: readonly RedisNode[];
  masterOf(name: string): Promise<RedisNode>;
  target(natMap: Record<string, { host: string; port: number }>): RedisLocksOptions;
}

export function sentinelFixture(set: RedisReplicaSet): Promise<Fixture> {
  return fixtureOn({
    nodes: set.nodes,
    masterOf: () => set.master(),
    target: (natMap) => ({ sentinels: { sentinels: set.sentinelAddresses, name: set.name, natMap } }),
  });
}

export function clusterFixture(cluster: RedisCluster): Promise<Fixture> {
  return fixtureOn({
    nodes: cluster.nodes,
    masterOf: (name) => cluster.nodeOfSlot(cluster.slotOf(name)),
    target: (natMap) => ({ cluster: { nodes: Object.values(natMap), natMap } }),
  });
}

async function fixtureOn(topology: Topology): Promise<Fixture> {
  const clients: { readonly provider: RedisLocks; readonly links: readonly RedisProxy[] }[] = [];
  return {
    async provider(): Promise<LockProvider> {
      const { nodes } = topology;
      const links = await Promise.all(
        nodes.map(({ port }) => startRedisProxy({ target: { host: "127.0.0.1", port } })),
      );
      const natMap = Object.fromEntries(
        nodes.map(({ port }, index) => [
          `127.0.0.1:${port}`,
          { host: "127.0.0.1", port: links[index]?.port ?? 0 },
        ]),
      );
      const provider = redisLocks({ ...topology.target(natMap), leaseMs: 3_000, heartbeatMs: 200 });
      clients.push({ provider, links });
      return provider;
    },
    async loseHold({ name }: LockHandle) {
      await (await topology.masterOf(name)).command("DEL", name);
    },
    async partition(provider) {
      const links = clients.find((client) => client.provider === provider)?.links ?? [];
      await Promise.all(links.map((link) => link.setMode("reset")));
      return {
        [Symbol.dispose]: () => {
          for (const link of links) void link.setMode("ok");
        },
      };
    },
    async close() {
      await Promise.all(clients.flatMap(({ links }) => links.map((link) => link.close())));
    },
  };
}
