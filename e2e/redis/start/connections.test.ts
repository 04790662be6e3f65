import { ClusterNodeError } from "@holdfast/redis-recipes";
import {
  eventually,
  type RedisCluster,
  startRedis,
  startRedisCluster,
  startRedisReplicaSet,
} from "@holdfast/test-servers";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { open, refusal } from "./support.js";

describe("TLS", () => {
  it("works with a certificate authority of one's own, and refuses any other", async () => {
    const [server, stranger] = await Promise.all([startRedis({ tls: true }), startRedis({ tls: true })]);
    onTestFinished(async () => {
      await Promise.all([server.stop(), stranger.stop()]);
    });
    const { locks } = open({ url: server.url, tls: { ca: server.tls?.ca ?? "" } });
    expect(await (await locks.mutex("orders").acquire()).release()).toBe("released");
    for (const tls of [{ ca: stranger.tls?.ca ?? "" }, {}]) {
      const { locks: wary } = open({ url: server.url, tls, connectTimeoutMs: 1_500 });
      // The provider is asked until it has had the time to see the certificate.
      const error = await eventually(
        async () => {
          const each = await refusal(wary.mutex("orders").acquire({ waitMs: 1_500 }));
          return /certificate/.test(each.message) ? each : null;
        },
        { what: "the certificate to be refused" },
      );
      expect(error).toMatchObject({ code: "HF_BACKEND" });
    }
  });

  it("works behind sentinels and in a cluster", async () => {
    const [set, cluster] = await Promise.all([
      startRedisReplicaSet({ tls: true }),
      startRedisCluster({ tls: true, masters: 3, replicas: 0 }),
    ]);
    onTestFinished(async () => {
      await Promise.all([set.stop(), cluster.stop()]);
    });
    const ca = set.nodes[0]?.tls?.ca ?? "";
    const sentinels = { sentinels: set.sentinelAddresses, name: set.name, tls: { ca } };
    const behind = open({ sentinels, tls: { ca } });
    const within = open({
      cluster: { nodes: cluster.nodes.map(({ port }) => ({ host: "127.0.0.1", port })) },
      tls: { ca: cluster.nodes[0]?.tls?.ca ?? "" },
    });
    for (const { locks } of [behind, within])
      expect(await (await locks.mutex("orders").acquire({ waitMs: 5_000 })).release()).toBe("released");
  });
});

describe("a client of one's own", () => {
  it("is accepted, and each of its settings that is not safe is named in a warning with the value to set", async () => {
    const server = await startRedis();
    onTestFinished(() => server.stop());
    const client = new Redis(server.port, server.host, { enableAutoPipelining: true });
    onTestFinished(() => client.disconnect());
    const { locks, warnings } = open({ client });
    expect(await (await locks.mutex("orders").acquire()).release()).toBe("released");
    const unsafe = warnings.filter(({ code }) => code === "HF_UNSAFE_OPTION").map(({ message }) => message);
    for (const option of [
      "maxRetriesPerRequest",
      "enableOfflineQueue",
      "enableAutoPipelining",
      "retryStrategy",
    ]) {
      expect(unsafe.filter((message) => message.includes(`option ${option} `))).toHaveLength(1);
    }
    for (const message of unsafe) expect(message).toMatch(/; (set|leave) /);
    await locks.close();
    expect(await client.ping()).toBe("PONG");
  });
});

describe("a cluster that is down", () => {
  it("is waited for, and named as the reason by who waits no longer", async () => {
    const cluster = await startRedisCluster({ masters: 3, replicas: 0 });
    onTestFinished(() => cluster.stop());
    for (const node of cluster.nodes) await node.command("CLUSTER", "DELSLOTS", "0");
    const nodes = cluster.nodes.map(({ port }) => ({ host: "127.0.0.1", port }));
    const { locks } = open({ cluster: { nodes }, connectTimeoutMs: 60_000 });
    const patient = locks.mutex("orders").acquire({ waitMs: 60_000 });
    const { locks: hasty } = open({ cluster: { nodes }, connectTimeoutMs: 2_000 });
    // The provider is asked until it has had the time to hear of it.
    const error = await eventually(
      async () => {
        const each = await refusal(hasty.mutex("orders").acquire({ waitMs: 60_000 }));
        return each.message.includes("the cluster is down") ? each : null;
      },
      { what: "the cluster to be named" },
    );
    expect(error).toMatchObject({ code: "HF_BACKEND", retryable: true });
    await cluster.nodes[0]?.command("CLUSTER", "ADDSLOTS", "0");
    expect(await (await patient).release()).toBe("released");
  });
});

it("a node of a cluster that is given as url refuses an acquire without a limit instead of leaving it to wait", async () => {
  const cluster = await startRedisCluster({ masters: 3, replicas: 0 });
  onTestFinished(() => cluster.stop());
  const { locks } = open({ url: `redis://127.0.0.1:${cluster.nodes[0]?.port}` });
  const error = await refusal(locks.mutex("orders").acquire());
  expect(error).toBeInstanceOf(ClusterNodeError);
  expect(error.message).toContain("use the option cluster");
});

describe("sharded channels", () => {
  let cluster: RedisCluster;
  beforeAll(async () => {
    cluster = await startRedisCluster({ masters: 3, replicas: 0 });
  }, 300_000);
  afterAll(() => cluster?.stop());

  /** The messages of one release that a Java client gets, on the plain channel and on the sharded one. */
  async function heard(shardedPubSub: "auto" | "on" | "off" | undefined) {
    const key = `sharded-${shardedPubSub ?? "default"}`;
    const node = await cluster.nodeOfKey(key);
    const channel = `redisson_lock__channel:{${key}}`;
    const kinds: string[] = [];
    const listener = new Redis(node.port, "127.0.0.1");
    onTestFinished(() => listener.disconnect());
    listener.on("message", (_channel, text) => kinds.push(`plain ${text}`));
    listener.on("smessage", (_channel, text) => kinds.push(`sharded ${text}`));
    await listener.subscribe(channel);
    await listener.ssubscribe(channel);
    const nodes = cluster.nodes.map(({ port }) => ({ host: "127.0.0.1", port }));
    const { locks } = open({ cluster: { nodes }, ...(shardedPubSub === undefined ? {} : { shardedPubSub }) });
    await (await locks.mutex(key).acquire({ waitMs: 5_000 })).release();
    // Everything that was published before this ping has arrived before its answer.
    await listener.ping();
    return kinds;
  }

  it.each([
    [undefined, "sharded"],
    ["auto", "sharded"],
    ["on", "sharded"],
    ["off", "plain"],
  ] as const)("with shardedPubSub %s a release in a cluster publishes one %s message", async (mode, kind) => {
    expect(await heard(mode)).toEqual([`${kind} 0`]);
  });

  it("are taken for plain ones where a node of the cluster does not know them", async () => {
    const old = await startRedisCluster({
      masters: 3,
      replicas: 0,
      users: ["default on nopass ~* &* +@all -pubsub|shardnumsub"],
    });
    onTestFinished(() => old.stop());
    const nodes = old.nodes.map(({ port }) => ({ host: "127.0.0.1", port }));
    const { locks } = open({ cluster: { nodes } });
    const key = "probe";
    const node = await old.nodeOfKey(key);
    const listener = new Redis(node.port, "127.0.0.1");
    onTestFinished(() => listener.disconnect());
    const kinds: string[] = [];
    listener.on("message", () => kinds.push("plain"));
    listener.on("smessage", () => kinds.push("sharded"));
    await listener.subscribe(`redisson_lock__channel:{${key}}`);
    await listener.ssubscribe(`redisson_lock__channel:{${key}}`);
    await (await locks.mutex(key).acquire({ waitMs: 5_000 })).release();
    await listener.ping();
    expect(kinds).toEqual(["plain"]);
  });

  it("are refused on one server, where Redisson has none, and a release publishes plainly", async () => {
    const server = await startRedis();
    onTestFinished(() => server.stop());
    expect(() => open({ url: server.url, shardedPubSub: "on" })).toThrow(/in a cluster alone/);
    const listener = new Redis(server.port, "127.0.0.1");
    onTestFinished(() => listener.disconnect());
    const kinds: string[] = [];
    listener.on("message", (_channel, text) => kinds.push(`plain ${text}`));
    listener.on("smessage", (_channel, text) => kinds.push(`sharded ${text}`));
    await listener.subscribe("redisson_lock__channel:{one}");
    await listener.ssubscribe("redisson_lock__channel:{one}");
    const { locks } = open({ url: server.url });
    await (await locks.mutex("one").acquire()).release();
    await listener.ping();
    expect(kinds).toEqual(["plain 0"]);
  });
});
