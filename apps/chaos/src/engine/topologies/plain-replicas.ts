import {
  eventually,
  type RedisNode,
  startProxy,
  startRedis,
  startRedisProxy,
  type TcpProxy,
} from "@holdfast/test-servers";
import type { ServerAddresses } from "../../workload/addresses.js";
import type { Topology } from "../scenario.js";
import { proxiedLink, unproxiedLink } from "./links.js";
import { RedisObserver } from "./redis-look.js";
import { logOf, redisServer, redisVersions, revive } from "./redis-server.js";
import { rememberRedis } from "./redis-sets.js";
import type { ServerSet } from "./server-set.js";

/**
 * Starts a master and replicas that no Sentinel watches. Clients know one address, which an operator directs to the
 * master. It is a proxy here; elsewhere it is a virtual address or a name.
 */
export async function startPlainReplicas(topology: Topology & { kind: "replicated" }): Promise<ServerSet> {
  const nodes: RedisNode[] = [];
  let front: TcpProxy | undefined;
  try {
    for (let at = 0; at <= topology.replicas; at++) nodes.push(await startRedis());
    const master = nodes[0] as RedisNode;
    await follow(nodes, master);
    front = await startProxy({ target: master.address, name: "the master's address" });
    return setOf(topology, nodes, front);
  } catch (error) {
    await Promise.all([...nodes.map((node) => node.stop()), front?.close()]);
    throw error;
  }
}

async function setOf(
  topology: Topology & { kind: "replicated" },
  nodes: readonly RedisNode[],
  front: TcpProxy,
): Promise<ServerSet> {
  const servers = nodes.map((node, at) => redisServer(node, `redis${at + 1}`));
  const addressesBy = ({ host, port }: TcpProxy): ServerAddresses => ({
    kind: "replicated",
    sentinels: [],
    masterName: "",
    replicas: topology.replicas,
    master: { host, port },
  });
  const addresses = addressesBy(front);
  const set: ServerSet = {
    topology,
    versions: await redisVersions(nodes[0] as RedisNode),
    addresses,
    servers,
    async link(worker, proxied) {
      if (!proxied) return unproxiedLink(addresses);
      const proxy = await startRedisProxy({
        target: front.connectString,
        name: `${worker} to the master's address`,
      });
      return proxiedLink(addressesBy(proxy), [proxy]);
    },
    observer: async () => new RedisObserver(async () => [masterAt(nodes, front)]),
    async heal() {
      await Promise.all(nodes.map(revive));
      await follow(nodes, masterAt(nodes, front));
    },
    logs: () => nodes.map((node, at) => logOf(node, servers[at]?.name ?? "redis")),
    async close() {
      await Promise.all([front.close(), ...nodes.map((node) => node.stop())]);
    },
  };
  rememberRedis(set, { nodes, front });
  return set;
}

/** The node to which the master's address leads. */
function masterAt(nodes: readonly RedisNode[], front: TcpProxy): RedisNode {
  const master = nodes.find(({ port }) => port === front.target.port);
  if (master === undefined) throw new Error("the master's address leads nowhere");
  return master;
}

async function follow(nodes: readonly RedisNode[], master: RedisNode): Promise<void> {
  await master.command("REPLICAOF", "NO", "ONE");
  const others = nodes.filter((node) => node !== master);
  for (const node of others) await node.command("REPLICAOF", master.host, master.port);
  for (const node of others) {
    await eventually(
      async () => {
        const { link, masterPort } = await node.role();
        return link === "connected" && masterPort === master.port;
      },
      { what: `redis-${node.port} to follow redis-${master.port}`, withinMs: 20_000 },
    );
  }
  // A replica reports itself as connected before its master counts it.
  await eventually(async () => (await master.role()).replicas === others.length, {
    what: `redis-${master.port} to have its replicas online`,
    withinMs: 20_000,
  });
}
