import {
  eventually,
  freePort,
  type RedisCluster,
  type RedisNode,
  startProxy,
  startRedis,
  startRedisCluster,
} from "@holdfast/test-servers";
import { Cluster, Redis } from "ioredis";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { NotSentError, ReplyError } from "../../src/client/errors.js";
import type { RedisLocksOptions } from "../../src/provider/options.js";
import { freshName, givenSettings, increment, openLine, settled } from "./support.js";

let cluster: RedisCluster;

beforeAll(async () => {
  cluster = await startRedisCluster({ clientProxies: true });
});
afterAll(() => cluster.stop());

const open = (more: Pick<RedisLocksOptions, "commandTimeoutMs"> = {}): ReturnType<typeof openLine> =>
  openLine({ cluster: { nodes: cluster.addresses.slice(0, 2) }, ...more });

/** One name on each of the three masters. */
async function names(): Promise<readonly string[]> {
  const found = new Map<unknown, string>();
  for (let turn = 0; found.size < 3; turn++) {
    const name = freshName(`spread-${turn}`);
    found.set(await cluster.nodeOfKey(name), name);
  }
  return [...found.values()];
}

test("is connected once each master was found and tried, and knows the run id for every key", async () => {
  const { line, states, notices, warnings } = open();
  await line.whenConnected();
  for (const name of await names()) {
    expect(line.slotOf(name)).toBe(cluster.slotOf(name));
    expect(line.masterOf(name)).toBe(await (await cluster.nodeOfKey(name)).runId());
    const answer = await line.run(increment, [name], []);
    expect(answer).toMatchObject({ reply: 1, runId: line.masterOf(name) });
  }
  expect([states, notices, warnings]).toEqual([["connected"], [], []]);
});

test("rejects within a second where no server listens", async () => {
  const nodes = [
    { host: "127.0.0.1", port: await freePort() },
    { host: "127.0.0.1", port: await freePort() },
  ];
  const { line } = openLine({ cluster: { nodes } });
  const { error, tookMs } = await settled(line.whenConnected());
  expect(String(error)).toContain("every server refused");
  expect(tookMs).toBeLessThan(9_000);
});

test("a node of a cluster that is given as the only server is refused by an error that names the option cluster", async () => {
  const [{ port }] = cluster.nodes as [(typeof cluster.nodes)[number]];
  const client = new Redis({ ...givenSettings(), host: "127.0.0.1", port });
  onTestFinished(() => client.disconnect());
  for (const options of [{ url: `redis://127.0.0.1:${port}` }, { client }]) {
    const { error } = await settled(openLine(options).line.whenConnected());
    expect(error).toMatchObject({ name: "ClusterNodeError", code: "HF_BACKEND", retryable: false });
    expect(String(error)).toContain("this server is part of a cluster: use the option cluster");
  }
});

test("sends many runs in one flight for each master", async () => {
  const { line } = open();
  await line.whenConnected();
  const spread = await names();
  const keys = spread.flatMap((name) => Array.from({ length: 10 }, (_, index) => `{${name}}:${index}`));
  for (const node of cluster.nodes) cluster.proxyOf(node).reset();
  const runs = keys.map((key) => ({ keys: [key], args: [] }));
  const answers = await Promise.all(line.runAll(increment, runs));
  for (const answer of answers) expect(answer).toMatchObject({ reply: 1 });
  const flights = await Promise.all(
    spread.map(async (name) => cluster.proxyOf(await cluster.nodeOfKey(name)).counts()),
  );
  // Only EVAL is counted: the regular refresh may add CLUSTER SLOTS.
  for (const { byName } of flights) expect(byName.EVAL).toBe(10);
});

test("the answer of one master does not wait for that of another, which is slow", async () => {
  const { line } = open({ commandTimeoutMs: 2_500 });
  await line.whenConnected();
  const [slow, well] = (await names()) as [string, string];
  for (const key of [slow, well]) await line.run(increment, [key], []);
  const held = cluster.proxyOf(await cluster.nodeOfKey(slow)).holdReply({ name: "EVALSHA" });
  onTestFinished(() => held.release());
  const runs = [slow, well].map((key) => ({ keys: [key], args: [] }));
  const [late, soon] = line.runAll(increment, runs);
  await held.hit();
  expect(await soon).toMatchObject({ reply: 2 });
  // The slow master still answers in time: its own answer is not given up.
  held.release();
  expect(await late).toMatchObject({ reply: 2 });
});

test.each(["their own addresses", "those of natMap"])(
  "follows a slot while it is on its way, and after it has gone, with servers at %s",
  followsASlot,
);

/** A line to the same servers at other addresses. */
async function mapped(): Promise<ReturnType<typeof openLine>> {
  const ways = await Promise.all(
    cluster.addresses.map(async ({ host, port }) => {
      const proxy = await startProxy({ target: `${host}:${port}` });
      onTestFinished(() => proxy.close());
      return [`${host}:${port}`, { host: proxy.host, port: proxy.port }] as const;
    }),
  );
  return openLine({ cluster: { nodes: ways.map(([, to]) => to), natMap: Object.fromEntries(ways) } });
}

async function followsASlot(where: string): Promise<void> {
  const { line, notices } = where === "those of natMap" ? await mapped() : open();
  await line.whenConnected();
  const key = freshName("moving");
  await line.run(increment, [key], []);
  const from = await cluster.nodeOfKey(key);
  const to = cluster.nodes.find((node, index) => index < 3 && node !== from);
  if (to === undefined) throw new Error("no other master");
  const move = await cluster.startMove(cluster.slotOf(key), from, to);
  await move.moveKeys();
  // The answer is ASK: the key has moved already, the slot has not.
  const during = await line.run(increment, [key], []);
  expect(during).toMatchObject({ reply: 2, runId: await to.runId() });
  expect(await Promise.all(line.runAll(increment, [{ keys: [key], args: [] }]))).toMatchObject([
    { reply: 3 },
  ]);
  await move.finish();
  // The answer is MOVED: by the client's map, the slot is still at the old server.
  expect(await line.run(increment, [key], [])).toMatchObject({ reply: 4, runId: await to.runId() });
  await eventually(async () => line.masterOf(key) === (await to.runId()), {
    what: "the new map of the slots",
  });
  expect(notices).toContain("master");
  await cluster.moveSlot(cluster.slotOf(key), to, from);
}

test("follows ASK to a master whose first slot is on its way, also with a client of one's own, and MOVED once it has the slot", async () => {
  const growing = await startRedisCluster({ masters: 3, replicas: 0 });
  onTestFinished(() => growing.stop());
  const added = await startRedis({ config: { "cluster-enabled": "yes", "cluster-node-timeout": 2_000 } });
  onTestFinished(() => added.stop());
  const [seed] = growing.nodes as [(typeof growing.nodes)[number]];
  const [, busPort = ""] = /@(\d+) myself/.exec(String(await seed.command("CLUSTER", "NODES"))) ?? [];
  await added.command("CLUSTER", "MEET", seed.host, seed.port, busPort);
  const all = [...growing.nodes, added];
  for (const node of all)
    await eventually(
      async () => {
        const info = String(await node.command("CLUSTER", "INFO"));
        return info.includes("cluster_known_nodes:4") && info.includes("cluster_state:ok");
      },
      { what: "all nodes to know each other" },
    );
  const nodes = growing.nodes.map(({ host, port }) => ({ host, port }));
  const given = new Cluster(nodes, { redisOptions: givenSettings() as object });
  onTestFinished(() => given.disconnect());
  const { line } = openLine({ cluster: { nodes } });
  const { line: other } = openLine({ client: given });
  await Promise.all([line.whenConnected(), other.whenConnected()]);
  const key = freshName("first");
  await line.run(increment, [key], []);
  const from = await growing.nodeOfKey(key);
  const move = await growing.startMove(growing.slotOf(key), from, added);
  await move.moveKeys();
  // The line has to connect to that master. A run that waits for it for half a second ends as redirected, and has done nothing.
  const runOf = (each: typeof line) =>
    eventually(() => each.run(increment, [key], []), { what: "a run at the new master" });
  const during = await runOf(line);
  expect(during).toMatchObject({ reply: 2, runId: await added.runId(), askedBy: await from.runId() });
  expect(await runOf(other)).toMatchObject({ reply: 3, runId: await added.runId() });
  await move.finish();
  expect(await runOf(line)).toMatchObject({ reply: 4, runId: await added.runId() });
  await eventually(async () => line.masterOf(key) === (await added.runId()), { what: "the new map" });
  const connections = async (): Promise<number> =>
    String(await added.command("CLIENT", "LIST", "TYPE", "normal"))
      .split("\n")
      .filter((each) => each.includes("cmd=info") || each.includes("cmd=eval")).length;
  expect(await connections()).toBeGreaterThan(0);
  await Promise.all([line.close(1_000), other.close(1_000)]);
  given.disconnect();
  await eventually(async () => (await connections()) === 0, { what: "all connections to be closed" });
});

test("rejects a run over two slots for good", async () => {
  const { line } = open();
  await line.whenConnected();
  const [one = "", other = ""] = await names();
  const error = (await settled(line.run(increment, [one, other], []))).error;
  expect(error).toBeInstanceOf(ReplyError);
  expect(error).toMatchObject({ retryable: false });
  expect(String(error)).toContain("CROSSSLOT");
});

test("uses sharded channels where the servers have them, on the master of the slot, and follows the slot", async () => {
  const { line, notices } = open();
  await line.whenConnected();
  expect(line.publishCommand).toBe("spublish");
  const name = freshName("sharded");
  const channel = `redisson_lock__channel:{${name}}`;
  const heard: string[] = [];
  const subscription = line.subscribe(channel, "redisson", (message) => heard.push(message));
  await subscription.ready;
  const from = await cluster.nodeOfKey(name);
  expect(await from.command("SPUBLISH", channel, "0")).toBe(1);
  expect(await from.command("PUBLISH", channel, "lost")).toBe(0);
  await eventually(() => heard.length === 1, { what: "the message" });
  const to = cluster.nodes.find((node, index) => index < 3 && node !== from);
  if (to === undefined) throw new Error("no other master");
  await cluster.moveSlot(cluster.slotOf(name), from, to);
  await eventually(async () => (await to.command("SPUBLISH", channel, "1")) === 1, {
    what: "the channel to follow",
  });
  await eventually(() => heard.length === 2, { what: "the message there" });
  expect(notices).toContain("subscriptions");
  await cluster.moveSlot(cluster.slotOf(name), to, from);
  expect(heard).toEqual(["0", "1"]);
});

test("keeps plain channels plain, wherever they are published", async () => {
  const { line } = open();
  const channel = freshName("holdfast_grant");
  const heard: string[] = [];
  await line.subscribe(channel, "plain", (message) => heard.push(message)).ready;
  for (const node of cluster.nodes) await node.command("PUBLISH", channel, "x");
  await eventually(() => heard.length === cluster.nodes.length, { what: "one from each node" });
});

test("stays plain for a fleet of older Java clients", async () => {
  const { line } = openLine({ cluster: { nodes: cluster.addresses }, shardedPubSub: "off" });
  await line.whenConnected();
  expect(line.publishCommand).toBe("publish");
  const channel = freshName("redisson_lock__channel");
  const heard: string[] = [];
  await line.subscribe(channel, "redisson", (message) => heard.push(message)).ready;
  await cluster.nodes[0]?.command("PUBLISH", channel, "0");
  await eventually(() => heard.length === 1, { what: "the plain message" });
});

test("waits for replicas on the master of each key", async () => {
  const { line } = openLine({
    cluster: { nodes: cluster.addresses },
    replicas: 1,
    acks: "all",
    // A run waits as long as this for the connection of its master that waits for replicas.
    commandTimeoutMs: 2_500,
  });
  await line.whenConnected();
  for (const name of await names()) {
    const answer = await line.run(increment, [name], [], { wait: { replicas: 1, timeoutMs: 1_000 } });
    expect(answer).toMatchObject({ reply: 1, acknowledged: 1 });
  }
});

test("works on a given cluster client and leaves it open", async () => {
  const { lazyConnect: _, retryStrategy: __, enableOfflineQueue: ___, ...redisOptions } = givenSettings();
  const client = new Cluster(cluster.addresses, { redisOptions });
  onTestFinished(() => client.disconnect());
  const { line, warnings } = openLine({ client });
  await line.whenConnected();
  const key = freshName("given");
  const heard: string[] = [];
  await line.subscribe(`x:{${key}}`, "redisson", (message) => heard.push(message)).ready;
  expect((await line.run(increment, [key], [])).reply).toBe(1);
  expect(warnings).toEqual([]);
  await line.close(2_000);
  expect(await client.get(key)).toBe("1");
});

// This test comes last, because it changes the cluster.
test("loses a master's keys alone when it is killed, and finds its replica", async () => {
  const { line, notices, states } = open();
  await line.whenConnected();
  const [key = "", other = ""] = await names();
  await line.run(increment, [key], []);
  const before = line.masterOf(key);
  const told: unknown[] = [];
  line.onBroken(() =>
    told.push([line.masterOf(key), line.masterOf(other) !== null, notices.includes("master")]),
  );
  const killed = await cluster.nodeOfKey(key);
  const [next] = (await cluster.replicasOf(killed)) as [RedisNode];
  await cluster.kill(killed);
  await eventually(() => line.masterOf(key) === null, { what: "the loss to show", withinMs: 10_000 });
  expect((await settled(line.run(increment, [key], []))).error).toBeInstanceOf(NotSentError);
  expect((await line.run(increment, [other], [])).reply).toBe(1);
  // The break is reported at once, before anything is known of the next master.
  expect(told).toEqual([[null, true, false]]);
  // The line has no part in the vote for the next master. On a busy machine more than one vote may be needed.
  await cluster.untilMaster(next, 60_000);
  await eventually(async () => (await settled(line.run(increment, [key], []))).value !== undefined, {
    what: "the replica to serve",
    withinMs: 15_000,
  });
  expect(line.masterOf(key)).not.toBe(before);
  expect(notices).toContain("master");
  expect(states).toEqual(["connected"]);
});
