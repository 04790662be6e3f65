import { InvalidArgumentError, type LockProvider, QuorumError, UnsupportedError } from "@holdfast/core";
import { type RedLocksOptions, redLocks } from "@holdfast/multi-lock";
import { eventually, type RedisNode, startRedis, startRedisCluster } from "@holdfast/test-servers";
import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest";
import { leaseMs, maxLeaseMs, urlsOf, votingMasters } from "./masters.js";

let masters: readonly RedisNode[];
const opened: { close(): Promise<unknown> }[] = [];
beforeAll(async () => {
  masters = await votingMasters(3);
});
afterEach(async () => {
  vi.restoreAllMocks();
  await Promise.all(opened.splice(0).map((each) => each.close()));
});
afterAll(() => Promise.all(masters.map((node) => node.stop())));

function client(nodes: RedLocksOptions["nodes"], options: Partial<RedLocksOptions> = {}): LockProvider {
  const locks = redLocks({
    nodes,
    leaseMs,
    maxLeaseMs,
    nodeTimeoutMs: 400,
    releaseTimeoutMs: 500,
    ...options,
  });
  opened.push(locks);
  return locks;
}

const failed = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => "no error",
    (error: unknown) => error,
  );

it("an even number of nodes, or less than three, is refused", () => {
  for (const count of [0, 1, 2, 4]) {
    const nodes = Array.from({ length: count }, (_, index) => `redis://node-${index}:6379`);
    expect(() => redLocks({ nodes })).toThrow(InvalidArgumentError);
    expect(() => redLocks({ nodes })).toThrow("an odd number of independent masters");
  }
});

it("one server under two names is refused before it has voted twice", async () => {
  const [first, second] = urlsOf(masters) as [string, string];
  const locks = client([first, first.replace("127.0.0.1", "localhost"), second]);
  // Two servers are a majority until the third name has been looked up. From then on no lock is granted any more.
  let error: unknown;
  await eventually(
    async () => {
      error = await failed(
        locks
          .mutex("twice")
          .acquire({ waitMs: 5_000 })
          .then((handle) => handle.release()),
      );
      return error instanceof InvalidArgumentError;
    },
    { withinMs: 10_000, what: "the double to be found" },
  );
  expect(String(error)).toContain("are one server");
  expect(await failed(locks.mutex("twice").acquire({ waitMs: 5_000 }))).toBeInstanceOf(InvalidArgumentError);
});

it("a replica has no vote", async () => {
  const replica = await startRedis();
  opened.push({ close: () => replica.stop() });
  const [first, second] = masters as [RedisNode, RedisNode];
  await replica.command("REPLICAOF", "127.0.0.1", first.port);
  await eventually(async () => (await replica.role()).link === "connected", {
    withinMs: 10_000,
    what: "the replica to follow",
  });
  const dead = await startRedis();
  await dead.stop();
  const locks = client(urlsOf([first, replica, dead]), { connectTimeoutMs: 1_000 });
  // The provider is asked until it has had the time to look at each of the servers.
  const error = await eventually(
    async () => {
      const each = await failed(locks.mutex("replica").acquire({ waitMs: 1_000 }));
      return String(each).includes("it is a replica") ? each : null;
    },
    { what: "the replica to be recognised" },
  );
  expect(error).toBeInstanceOf(QuorumError);
  // The two masters beside the replica are a majority.
  const enough = client(urlsOf([first, second, replica]));
  const handle = await enough.mutex("replica").acquire({ waitMs: 5_000 });
  expect(await handle.release()).toBe("released");
});

it("a shard of a cluster has no vote", async () => {
  const cluster = await startRedisCluster({ masters: 3, replicas: 0 });
  opened.push({ close: () => cluster.stop() });
  const locks = client(cluster.nodes.map(({ port }) => `redis://127.0.0.1:${port}`));
  const works = [locks.ready({ waitMs: 10_000 }), locks.mutex("shard").tryAcquire()];
  for (const error of await Promise.all(works.map((work) => failed(work)))) {
    expect(error).toBeInstanceOf(QuorumError);
    expect((error as QuorumError).votes.map(({ vote }) => vote)).toEqual(["error", "error", "error"]);
    expect(String(error)).toContain("this server is part of a cluster");
  }
}, 300_000);

it("a node that may evict locks is a warning that names it", async () => {
  const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
  const evicting = await startRedis({ maxMemory: "64mb", maxMemoryPolicy: "allkeys-lru" });
  opened.push({ close: () => evicting.stop() });
  const locks = client(urlsOf([...masters.slice(0, 2), evicting]));
  await locks.ready({ waitMs: 10_000 });
  await eventually(
    () =>
      warn.mock.calls.some(
        ([text, options]) =>
          String(text).includes(String(evicting.port)) &&
          (options as { code?: string }).code === "HF_EVICTION_POLICY",
      ),
    { withinMs: 20_000, what: "the warning" },
  );
});

it("there are mutexes alone, in no order, and no tokens unless asked for", async () => {
  const locks = client(urlsOf(masters));
  expect(locks.capabilities).toMatchObject({ fairness: "none", fencing: "none", lease: "ttl" });
  expect(() => locks.readWriteLock("rw").read.tryAcquire()).toThrow(UnsupportedError);
  const handle = await locks.mutex("tokenless").acquire({ waitMs: 5_000 });
  expect(handle.token).toBeNull();
  await handle.release();
});

it("a lease that is longer than nodes sit out is refused", async () => {
  const locks = client(urlsOf(masters));
  const error = await failed(locks.mutex("long").acquire({ leaseMs: maxLeaseMs + 1, waitMs: 0 }));
  expect(error).toBeInstanceOf(InvalidArgumentError);
  expect(String(error)).toContain("maxLeaseMs");
});
