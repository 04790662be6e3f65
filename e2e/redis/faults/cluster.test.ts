import { setTimeout as pass } from "node:timers/promises";
import { redisLocks } from "@holdfast/redis-recipes";
import { eventually, type RedisCluster, type RedisNode, startRedisCluster } from "@holdfast/test-servers";
import { afterEach, beforeEach, expect, it, onTestFinished } from "vitest";
import { Crew, leaseMs } from "./crew.js";

let cluster: RedisCluster;
let crew: Crew;
/** The master of the mutex. Other locks of the crew may have other masters. */
let master: RedisNode;

beforeEach(async () => {
  cluster = await startRedisCluster({ clientProxies: true, nodeTimeoutMs: 1_000 });
  const target = { cluster: { nodes: cluster.addresses } };
  const links = cluster.nodes.map((node) => cluster.proxyOf(node));
  crew = await Crew.start([target, target, target], links);
  await crew.holdAndWait();
  master = await cluster.nodeOfKey(crew.mutexName);
  // By then all holds are renewed, and the replicas have the renewals.
  await pass(leaseMs / 2);
});
afterEach(async () => {
  for (const node of cluster.nodes) if (node.running) node.resume();
  await crew.close();
  await cluster.stop();
});

const mutex = () => crew.held.find(({ handle }) => handle.name === crew.mutexName);

it("a killed master: its holds are in doubt at once, and its waiters are served by the next one", async () => {
  // The first renewal would notice the end of the connection as well, but is due only after twenty seconds.
  const slow = redisLocks({ cluster: { nodes: cluster.addresses }, leaseMs: 60_000 });
  onTestFinished(async () => {
    await slow.close();
  });
  const here = await slow.mutex(await nameAt(master)).acquire();
  const elsewhere = await slow.mutex(await nameAt(await anotherMaster())).acquire();
  const doubted: string[] = [];
  slow.events.on("uncertain", ({ name }) => doubted.push(name));
  // While this is set there is no next master, so the doubt cannot come from one.
  const noNextMaster = async (yes: boolean): Promise<void> => {
    for (const node of cluster.nodes) {
      if (node.running)
        await node.command("CONFIG", "SET", "cluster-replica-no-failover", yes ? "yes" : "no");
    }
  };
  await noNextMaster(true);
  await cluster.kill(master);
  await eventually(() => doubted.length > 0 && mutex()?.doubtedMs !== Number.POSITIVE_INFINITY, {
    what: "the doubt",
    withinMs: 5_000,
  });
  expect(doubted).toEqual([here.name]);
  await noNextMaster(false);
  await crew.end();
  await Promise.all([here.release(), elsewhere.release()]);
});

it("a frozen master, which its replica replaces: all losses are heard of in time, and all waiters are served", async () => {
  await master.pause();
  await eventually(() => mutex()?.lost === true || mutex()?.recovered === true, {
    what: "the holder to know",
    withinMs: 15_000,
  });
  await eventually(async () => (await nextMaster()) !== master, {
    what: "the next master",
    withinMs: 15_000,
  });
  master.resume();
  await crew.end();
});

it("a planned failover: the same holders at the next master", async () => {
  await cluster.failover(master);
  await eventually(() => mutex()?.doubtedMs !== Number.POSITIVE_INFINITY, {
    what: "the doubt",
    withinMs: 20_000,
  });
  await crew.end();
});

it("subscriptions that are killed on all nodes cost no wake-up", async () => {
  for (const node of cluster.nodes) await node.killClients("pubsub");
  await crew.end();
  expect(crew.beliefs.lost).toBe(0);
});

/** The name of a lock that this node has. */
async function nameAt(node: RedisNode): Promise<string> {
  for (let turn = 0; ; turn++) {
    const name = `slow-${process.pid}-${turn}`;
    if ((await cluster.nodeOfKey(name)) === node) return name;
  }
}

async function anotherMaster(): Promise<RedisNode> {
  for (const node of cluster.nodes) {
    if (node !== master && (await node.role()).role === "master") return node;
  }
  throw new Error("no other master");
}

/**
 * Another node than `master` once the other nodes have a third master, and `master` before that. The frozen master cannot be
 * asked.
 */
async function nextMaster(): Promise<RedisNode | undefined> {
  const others = cluster.nodes.filter((node) => node !== master);
  const roles = await Promise.all(others.map(async (node) => ({ node, ...(await node.role()) })));
  return roles.filter(({ role }) => role === "master").length >= 3 ? roles[0]?.node : master;
}
