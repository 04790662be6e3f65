import { BackendError } from "@holdfast/core";
import { type RedisLocks, type RedisLocksOptions, redisLocks } from "@holdfast/redis-recipes";
import {
  eventually,
  type RedisNode,
  type RedisProxy,
  startRedis,
  startRedisProxy,
} from "@holdfast/test-servers";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";

let node: RedisNode;
beforeAll(async () => {
  node = await startRedis();
});
afterAll(() => node?.stop());

interface Client {
  readonly locks: RedisLocks;
  readonly link: RedisProxy;
}

let names = 0;
const freshName = (): string => `real-${process.pid}-${++names}`;

/** A client through a link of its own. The server knows its scripts, and its grant channel is subscribed. */
async function client(options: Omit<RedisLocksOptions, "url"> = {}, server = node): Promise<Client> {
  const link = await startRedisProxy({ target: { host: "127.0.0.1", port: server.port } });
  const locks = redisLocks({ url: `redis://127.0.0.1:${link.port}`, ...options });
  onTestFinished(async () => {
    await locks.close({ releaseTimeoutMs: 500 });
    await link.close();
  });
  await locks.ready();
  const warm = await locks.mutex(freshName()).acquire({ revocable: true });
  await warm.confirm();
  await warm.release();
  return { locks, link };
}

async function untilQueued({ locks }: Client, name: string): Promise<void> {
  await eventually(async () => (await locks.mutex(name).inspect()).pendingTotal === 1, { what: "a waiter" });
}

const rare = { heartbeatMs: 20_000, aliveMs: 70_000 };

test("a free lock costs one round trip, and so does its release", async () => {
  const { locks, link } = await client();
  link.reset();
  const handle = await locks.mutex(freshName()).acquire();
  expect(link.counts()).toMatchObject({ commands: 1, flights: 1 });
  expect(await handle.release()).toBe("released");
  expect(link.counts()).toMatchObject({ commands: 2, flights: 2 });
});

test("a hand-off is a release and a message; the new holder's renewal delays no grant", async () => {
  const [first, second] = [await client(rare), await client(rare)];
  const name = freshName();
  const held = await first.locks.mutex(name).acquire();
  const waiting = second.locks.mutex(name).acquire();
  await untilQueued(first, name);
  // What the new holder sends is held back on the way. The grant comes all the same.
  const renewal = second.link.holdCommand({ name: ["EVALSHA", "EVAL"] });
  first.link.reset();
  expect(await held.release()).toBe("released");
  const handle = await waiting;
  expect(first.link.counts().commands).toBe(1);
  expect(handle.token).toBeGreaterThan(held.token as bigint);
  expect(handle.remainingMs()).toBeLessThanOrEqual(3_000);
  renewal.release();
  await eventually(() => handle.remainingMs() > 20_000, { what: "the full lease" });
  expect(await handle.release()).toBe("released");
});

test("a lost message costs the rest of a heartbeat, and no more", async () => {
  const [first, second] = [await client(), await client({ heartbeatMs: 300 })];
  const name = freshName();
  const held = await first.locks.mutex(name).acquire();
  const waiting = second.locks.mutex(name).acquire();
  await untilQueued(first, name);
  second.link.dropMessages();
  const releasedMs = performance.now();
  await held.release();
  await waiting;
  expect(performance.now() - releasedMs).toBeLessThan(3_000);
});

test("an acquire and a release whose answers are lost end as if they had come", async () => {
  const { locks, link } = await client();
  const name = freshName();
  link.dropReply({ name: ["EVALSHA", "EVAL"] });
  const handle = await locks.mutex(name).acquire();
  const { held } = await locks.mutex(name).inspect();
  expect(held.map(({ token }) => token)).toEqual([handle.token]);
  link.dropReply({ name: ["EVALSHA", "EVAL"] });
  expect(await handle.release()).toBe("released");
  expect((await locks.mutex(name).inspect()).held).toEqual([]);
});

test("scripts that the server forgot are sent again, and no call fails", async () => {
  const { locks } = await client();
  const handle = await locks.mutex(freshName()).acquire();
  await node.flushScripts();
  await handle.confirm();
  await node.flushScripts();
  expect(await handle.release()).toBe("released");
});

test("a waiter whose subscription is killed is granted, by what it asks once it is back", async () => {
  const [first, second] = [await client(rare), await client(rare)];
  const name = freshName();
  const held = await first.locks.mutex(name).acquire();
  const waiting = second.locks.mutex(name).acquire();
  await untilQueued(first, name);
  await node.killClients("pubsub");
  const releasedMs = performance.now();
  await held.release();
  await waiting;
  expect(performance.now() - releasedMs).toBeLessThan(9_000);
});

test("a frozen server: the hold is uncertain, then lost by our own clock before the server's lease ends", async () => {
  const own = await startRedis();
  onTestFinished(async () => {
    await own.resume();
    await own.stop();
  });
  const { locks } = await client({ leaseMs: 4_000 }, own);
  const handle = await locks.mutex(freshName()).acquire();
  const { lost } = handle;
  const acquiredMs = performance.now();
  await own.pause();
  await eventually(() => lost.aborted, { what: "the loss", withinMs: 20_000 });
  expect(performance.now() - acquiredMs).toBeLessThan(4_000 + 5_000);
  expect(() => handle.assertHeld()).toThrow();
});

test("a read-write lock on the name is a conflict, not a wait", async () => {
  const { locks } = await client();
  const name = freshName();
  await node.command("HSET", name, "mode", "read", "x:1", "1");
  const refused = locks.mutex(name).acquire();
  await expect(refused).rejects.toMatchObject({ code: "HF_LAYOUT_CONFLICT", lockName: name });
  await expect(refused).rejects.not.toBeInstanceOf(BackendError);
  await node.command("DEL", name);
});
