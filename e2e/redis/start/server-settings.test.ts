import { once } from "node:events";
import { redisLocks, ServerTooOldError, TooFewReplicasError } from "@holdfast/redis-recipes";
import { eventually, startRedis, startRedisReplicaSet } from "@holdfast/test-servers";
import { expect, it, onTestFinished } from "vitest";
import { oldServer } from "./old-server.js";
import { open, refusal } from "./support.js";

it("warns of an eviction policy that deletes locks, naming policy, server and what to do, once", async () => {
  const server = await startRedis({ maxMemory: "64mb", maxMemoryPolicy: "volatile-ttl" });
  onTestFinished(() => server.stop());
  const process_ = once(process, "warning");
  const { locks, until, warnings } = open({ url: server.url });
  const { message, backend } = await until("HF_EVICTION_POLICY");
  expect(backend).toBe("redis");
  expect(message).toContain("maxmemory-policy volatile-ttl");
  expect(message).toContain(`127.0.0.1:${server.port}`);
  expect(message).toContain("set maxmemory-policy noeviction");
  expect((await process_)[0]).toMatchObject({ name: "HoldfastWarning", code: "HF_EVICTION_POLICY", message });
  // Locks work all the same, and a new connection brings no second warning.
  expect(await (await locks.mutex("orders").acquire()).release()).toBe("released");
  await server.killClients("normal");
  expect(await (await locks.mutex("orders").acquire({ waitMs: 5_000 })).release()).toBe("released");
  expect(warnings).toHaveLength(1);
});

it("says nothing of a server that keeps everything", async () => {
  const server = await startRedis();
  onTestFinished(() => server.stop());
  const { locks, warnings } = open({ url: server.url });
  expect(await (await locks.mutex("orders").acquire()).release()).toBe("released");
  expect(warnings).toEqual([]);
});

it("looks at each master that a failover brings, and names that one", async () => {
  const set = await startRedisReplicaSet();
  onTestFinished(() => set.stop());
  for (const replica of await set.replicas()) {
    await replica.command("CONFIG", "SET", "maxmemory-policy", "allkeys-lru");
  }
  const { locks, warnings, until } = open({
    sentinels: { sentinels: set.sentinelAddresses, name: set.name },
    replicas: 2,
  });
  await locks.ready();
  expect(warnings).toEqual([]);
  const next = await set.failover();
  const { message } = await until("HF_EVICTION_POLICY");
  expect(message).toContain(`127.0.0.1:${next.port}`);
  expect(message).toContain("allkeys-lru");
});

it("warns of fewer replicas than configured, and refuses where a grant needs them", async () => {
  const server = await startRedis();
  onTestFinished(() => server.stop());
  const { locks, until } = open({ url: server.url, replicas: 2, acks: "all" });
  expect((await until("HF_REPLICAS_MISSING")).message).toContain("0 of the 2 replicas");
  const error = await refusal(locks.mutex("orders").acquire({ waitMs: 30_000 }));
  expect(error).toBeInstanceOf(TooFewReplicasError);
  expect(error).toMatchObject({ needed: 2, configured: 2, connected: 0, retryable: false });
});

it("refuses a replica, and says that it is one", async () => {
  const master = await startRedis();
  onTestFinished(() => master.stop());
  const replica = await startRedis();
  onTestFinished(() => replica.stop());
  await replica.command("REPLICAOF", master.host, master.port);
  await eventually(async () => JSON.stringify(await replica.command("ROLE")).includes("connected"), {
    what: "the replica to follow",
  });
  const { locks } = open({ url: replica.url });
  // The provider is asked until it has had the time to look at the server.
  const error = await eventually(
    async () => {
      const each = await refusal(locks.mutex("orders").acquire({ waitMs: 1_000 }));
      return each.message.includes("it is a replica") ? each : null;
    },
    { what: "the replica to be recognised" },
  );
  expect(error.message).toContain(replica.address);
});

it("refuses a server that is too old, naming its version and the one that is needed", async () => {
  const server = await startRedis();
  onTestFinished(() => server.stop());
  const old = await oldServer(server.port);
  onTestFinished(() => old.close());
  const { locks } = open({ url: `redis://127.0.0.1:${old.port}` });
  const error = await refusal(locks.mutex("orders").acquire({ waitMs: 30_000 }));
  expect(error).toBeInstanceOf(ServerTooOldError);
  expect(error).toMatchObject({ version: expect.stringMatching(/^6\.2\./), retryable: false });
  expect(error.message).toContain("7.0 or later is needed");
  expect(await server.command("DBSIZE")).toBe(0);
});

it.each([
  [{ leaseMS: 1 }, /does not know the option "leaseMS"; did you mean leaseMs\?/],
  [{ ack: 1 }, /did you mean acks\?/],
  [{ shardedPubsub: "on" }, /did you mean shardedPubSub\?/],
  [{ replica: 1 }, /did you mean replicas\?/],
  [{ javaPeer: false }, /did you mean javaPeers\?/],
])(
  "refuses the unknown option %j with the nearest one that there is, before any connection",
  (wrong, message) => {
    expect(() => redisLocks({ url: "redis://127.0.0.1:1", ...wrong } as never)).toThrow(message);
  },
);
