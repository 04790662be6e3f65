import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  eventually,
  RedisConnection,
  type RedisNode,
  type RedisReplicaSet,
  startRedisReplicaSet,
} from "../../src/index.js";

/** Does what a client of Sentinel does: asks for the master by name and connects to it. */
async function connectBySentinel(set: RedisReplicaSet): Promise<RedisConnection> {
  const [first] = set.sentinelAddresses;
  if (first === undefined) throw new Error("no sentinel");
  using sentinel = await RedisConnection.connect(first);
  const told = await sentinel.command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", set.name);
  const [host, port] = Array.isArray(told) ? told : [];
  return RedisConnection.connect({ host: String(host), port: Number(port) });
}

async function has(node: RedisNode, key: string): Promise<boolean> {
  return (await node.command("EXISTS", key)) === 1;
}

/** A switch takes a second, where it takes ten by Sentinel's own periods. The silence that counts is as long as by default. */
const fast = {
  failoverTimeoutMs: 1_000, // twice this time must pass between two failovers
  sentinelPeriods: { "info-period": 500, "publish-period": 250, "ping-period": 250 },
};

describe("a master, two replicas and three sentinels", () => {
  let set: RedisReplicaSet;

  beforeAll(async () => {
    set = await startRedisReplicaSet(fast);
  });

  beforeEach(() => set.ready());

  afterAll(() => set.stop());

  test("are one set when start resolves: the master's writes are on all replicas", async () => {
    const master = await set.master();
    expect(master).toBe(set.nodes[0]);
    expect(await set.replicas()).toEqual(set.nodes.slice(1));
    expect([...(await set.roles()).values()].map((role) => role?.role)).toEqual([
      "master",
      "replica",
      "replica",
    ]);
    using connection = await connectBySentinel(set);
    await connection.command("SET", "key", 1);
    expect(await connection.command("WAIT", 2, 1_000)).toBe(2);
    for (const replica of await set.replicas()) expect(await has(replica, "key")).toBe(true);
    expect(set.sentinelAddresses).toHaveLength(3);
  });

  test("failover resolves when another server is master and all sentinels say so, and the old one becomes a replica", async () => {
    const old = await set.master();
    const next = await set.failover();
    expect(next).not.toBe(old);
    expect(await next.role()).toMatchObject({ role: "master" });
    await eventually(async () => (await old.role()).role === "replica", {
      what: "the old master to be demoted",
      withinMs: 15_000,
    });
    expect(await set.master()).toBe(next);
  });

  test("a killed master is replaced with nothing lost, and is a replica under its old address when it is back", async () => {
    using connection = await connectBySentinel(set);
    await connection.command("SET", "kept", 1);
    await connection.command("WAIT", 2, 1_000);
    const startMs = performance.now();
    const old = await set.killMaster();
    const next = await set.untilMaster({ not: old });
    // Sentinels count the master as down only after `downAfterMs` of silence.
    expect(performance.now() - startMs).toBeGreaterThan(800);
    expect(await has(next, "kept")).toBe(true);
    await old.restart();
    await set.ready();
    expect((await old.role()).role).toBe("replica");
    expect(await set.master()).toBe(next);
  });

  test("a paused master is replaced, and says that it is master until it is demoted", async () => {
    const old = await set.master();
    await old.pause();
    const next = await set.untilMaster({ not: old });
    expect((await set.roles()).get(old)).toBeUndefined();
    old.resume();
    expect((await old.role()).role).toBe("master");
    expect(next).not.toBe(old);
    await eventually(async () => (await old.role()).role === "replica", { what: "it to be told" });
  });

  test("cannot be cut without proxies", async () => {
    expect(() => set.cutReplication(set.nodes[1] as RedisNode)).toThrow("replicationProxies: true");
    expect(() => set.proxyOf(set.nodes[0] as RedisNode)).toThrow("clientProxies: true");
  });
});

describe("a set behind proxies", () => {
  let set: RedisReplicaSet;

  beforeAll(async () => {
    set = await startRedisReplicaSet({ ...fast, replicationProxies: true, clientProxies: true });
  });

  beforeEach(() => set.ready());

  afterEach(() => {
    for (const node of set.nodes) set.healReplication(node);
  });

  afterAll(() => set.stop());

  test("a replica that is cut off grows stale while sentinels and clients still reach it, and catches up when healed", async () => {
    const [cut, other] = (await set.replicas()) as [RedisNode, RedisNode];
    const master = await set.master();
    set.cutReplication(cut);
    using connection = await master.connect();
    await connection.command("SET", "late", 1);
    expect(await connection.command("WAIT", 1, 1_500)).toBe(1);
    expect(await connection.command("WAIT", 2, 100)).toBe(1);
    expect(await has(other, "late")).toBe(true);
    expect(await has(cut, "late")).toBe(false);
    const told = await set.sentinels[0]?.list("REPLICAS", set.name);
    const row = told?.find(({ port }) => Number(port) === set.announcedPort(cut));
    expect(row?.flags).toBe("slave");
    set.healReplication(cut);
    await eventually(() => has(cut, "late"), { what: "the replica to catch up" });
  });

  test("a stale replica that takes over has not what it missed: an acknowledged write is lost", async () => {
    for (const replica of await set.replicas()) set.cutReplication(replica);
    using connection = await connectBySentinel(set);
    await connection.command("SET", "lost", 1);
    const old = await set.killMaster();
    const next = await set.untilMaster({ not: old });
    for (const node of set.nodes) set.healReplication(node);
    expect(await has(next, "lost")).toBe(false);
    await old.restart();
    await set.ready();
    expect(await has(old, "lost")).toBe(false);
  });

  test("clients see proxies only, the servers reach each other past them", async () => {
    const master = await set.master();
    const proxy = set.proxyOf(master);
    using connection = await connectBySentinel(set);
    proxy.reset();
    await connection.command("SET", "seen", 1);
    expect(proxy.counts()).toMatchObject({ commands: 1, byName: { SET: 1 } });

    const proxies = set.nodes.map((node) => set.proxyOf(node).port);
    using sentinel = await RedisConnection.connect(set.sentinelAddresses[1] ?? { port: 0 });
    const rows = [await sentinel.command("SENTINEL", "REPLICAS", set.name)].flat();
    const ports = rows.map((row) => (Array.isArray(row) ? Number(row[row.indexOf("port") + 1]) : 0));
    expect(ports).toHaveLength(2);
    for (const port of ports) expect(proxies).toContain(port);

    // A shut proxy is noticed only by clients, even when all proxies are shut.
    await Promise.all(set.nodes.map((node) => set.proxyOf(node).setMode("hole")));
    await expect(connection.command("PING")).rejects.toMatchObject({ reason: "timeout" });
    expect(await set.master()).toBe(master);
    await set.ready();
    await Promise.all(set.nodes.map((node) => set.proxyOf(node).setMode("ok")));
  });

  test("the messages of Sentinels about a switch have the addresses of proxies", async () => {
    using subscriber = await RedisConnection.connect(set.sentinelAddresses[0] ?? { port: 0 });
    await subscriber.command("SUBSCRIBE", "+switch-master");
    const old = await set.master();
    const next = await set.failover();
    const message = await eventually(() => subscriber.messages[0], { what: "the message" });
    const [from, to] = [set.proxyOf(old).port, set.proxyOf(next).port];
    expect(message).toEqual(["message", "+switch-master", `${set.name} 127.0.0.1 ${from} 127.0.0.1 ${to}`]);
  });
});

test("a set with users and one with TLS come up and fail over like any other", async () => {
  for (const options of [{ password: "geheim", users: ["app on >secret ~* &* +@all"] }, { tls: true }]) {
    await using set = await startRedisReplicaSet({
      ...fast,
      ...options,
      replicas: 1,
    });
    const old = await set.master();
    expect(await set.failover()).not.toBe(old);
  }
});
