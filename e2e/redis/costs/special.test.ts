import { type RedisLocks, type RedisLocksOptions, redisLocks } from "@holdfast/redis-recipes";
import {
  eventually,
  type RedisNode,
  type RedisProxy,
  startRedis,
  startRedisProxy,
} from "@holdfast/test-servers";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { Scene } from "./scene.js";

// Costs for which the table has no line: bounded runs of direct hand-offs, a Java client as the holder, and replicas.

const unhurried = { leaseMs: 120_000, heartbeatMs: 30_000 };
const waitMs = 20_000;

let server: RedisNode;
let replica: RedisNode;
let link: RedisProxy;
let names = 0;

beforeAll(async () => {
  [server, replica] = await Promise.all([startRedis(), startRedis()]);
  await replica.command("REPLICAOF", server.host, server.port);
  link = await startRedisProxy({ target: { host: server.host, port: server.port } });
  await eventually(
    async () =>
      Object.values(await server.info("replication")).some((value) => value.includes("state=online")),
    { what: "the replica to be in step" },
  );
});
afterAll(async () => {
  await link?.close();
  await Promise.all([server, replica].map((node) => node?.stop()));
});

async function locksOn(url: string, options: Omit<RedisLocksOptions, "url"> = {}): Promise<RedisLocks> {
  const locks = redisLocks({ url, ...unhurried, ...options });
  onTestFinished(async () => {
    await locks.close({ releaseTimeoutMs: 500 });
  });
  await locks.ready();
  await (await locks.mutex("first").acquire({ revocable: true })).release();
  return locks;
}

async function scene(options: Omit<RedisLocksOptions, "url"> = {}): Promise<Scene> {
  const client = await locksOn(`redis://${link.host}:${link.port}`, options);
  const rival = await locksOn(server.url, options);
  return new Scene(client, rival, link, `special-${names++}`);
}

it("takes one round trip after the plain release that ends a run of direct hand-offs, and none in the run", async () => {
  const stage = await scene({ maxDirectRun: 1 });
  const { client, rival, name } = stage;
  const held = await rival.mutex(name).acquire();
  const waiting = [client.mutex(name).acquire({ waitMs }), client.mutex(name).acquire({ waitMs })];
  await stage.quiet();
  const [first, second] = waiting;
  const handle = await stage.cost(
    async () => {
      await held.release();
      return await Promise.race([first, second]);
    },
    { unanswered: true },
  );
  expect(stage.counted, stage.sent).toEqual({ scripts: 1, awaited: 0 });
  // The four scripts are the release, whose nudge wakes the second waiter, the heartbeat that takes the lock, the renewal
  // behind it, and `confirm()`.
  await stage.cost(async () => {
    await handle?.release();
    await (await second)?.confirm();
  });
  expect(stage.counted?.scripts, stage.sent).toBeLessThanOrEqual(4);
  await (await second)?.release();
});

it("takes one round trip when a Java client lets go", async () => {
  const stage = await scene();
  const { client, name } = stage;
  await server.command("HSET", name, "aaaaaaaa-aaaa-4aaa-aaaa-aaaaaaaaaaaa:57", "1");
  await server.command("PEXPIRE", name, 60_000);
  const waiting = client.mutex(name).acquire({ waitMs });
  await stage.quiet();
  const handle = await stage.cost(async () => {
    await server.command("DEL", name);
    await server.command("PUBLISH", `redisson_lock__channel:{${name}}`, "0");
    return await waiting;
  });
  // The client sends a heartbeat, then a renewal in the background, and it ends its subscription.
  expect(stage.counted, stage.sent).toEqual({ scripts: 2, subscriptions: 1, awaited: 1 });
  await handle.release();
});

it("with acks, waits for replicas in the flight of a grant, once more for one handed over, and never for a release or a renewal", async () => {
  const stage = await scene({ replicas: 1, acks: 1 });
  const { client, rival, name } = stage;
  const handle = await stage.cost(() => client.mutex(name).acquire());
  // WAIT counts the replicas that have the last write of the connection. So a script that always writes is sent behind the
  // first one.
  expect(stage.counted, stage.sent).toEqual({ scripts: 2, waits: 1, awaited: 1 });
  await stage.cost(() => handle.confirm());
  expect(stage.counted, stage.sent).toEqual({ scripts: 1, awaited: 1 });
  await stage.cost(() => handle.release());
  expect(stage.counted, stage.sent).toEqual({ scripts: 1, awaited: 1 });

  const held = await rival.mutex(name).acquire();
  const waiting = client.mutex(name).acquire({ waitMs });
  await stage.quiet();
  const handed = await stage.cost(async () => {
    await held.release();
    return await waiting;
  });
  expect(stage.counted, stage.sent).toEqual({ scripts: 2, waits: 1, awaited: 1 });
  await handed.release();
});
