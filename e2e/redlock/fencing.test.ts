import { InvalidArgumentError, type LockProvider, tokenGate } from "@holdfast/core";
import { type RedLocksOptions, redLocks } from "@holdfast/multi-lock";
import {
  eventually,
  type RedisNode,
  type RedisProxy,
  startRedis,
  startRedisProxy,
  startZooKeeper,
} from "@holdfast/test-servers";
import { zookeeperLocks } from "@holdfast/zk-recipes";
import { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { share } from "../support/share.js";
import { leaseMs, maxLeaseMs, seasoned, urlsOf } from "./masters.js";

let masters: readonly RedisNode[];
const opened: { close(): Promise<unknown> }[] = [];
beforeAll(async () => {
  masters = await Promise.all(Array.from({ length: 3 }, () => startRedis({ appendOnly: "always" })));
  await seasoned(masters, maxLeaseMs);
});
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close();
});
afterAll(() => Promise.all(masters.map((node) => node.stop())));

function client(
  options: Partial<RedLocksOptions>,
  nodes: readonly { port: number }[] = masters,
): LockProvider {
  const locks = redLocks({
    nodes: urlsOf(nodes).map((url) => ({ url, durable: true })),
    leaseMs,
    maxLeaseMs,
    nodeTimeoutMs: 400,
    releaseTimeoutMs: 500,
    ...options,
  });
  opened.push(locks);
  return locks;
}

const rises = (tokens: readonly bigint[]): boolean =>
  tokens.every((token, index) => index === 0 || token > (tokens[index - 1] as bigint));

it("tokens that are written back rise from grant to grant, while durable nodes are killed and come back", async () => {
  const grants = share("grants by three clients with tokens", 100, 1_000);
  const tokens: bigint[] = [];
  const work = Array.from({ length: 3 }, async () => {
    const lock = client({ fencing: "write-back" }).mutex("written back");
    while (tokens.length < grants) {
      const handle = await lock.tryAcquire({ waitMs: 10_000 }).catch(() => null);
      if (handle === null) continue;
      tokens.push(handle.token as bigint);
      await handle.release();
    }
  });
  const done = Promise.all(work);
  for (const share of [0.2, 0.4, 0.6, 0.8]) {
    await eventually(() => tokens.length >= share * grants, { withinMs: 120_000, what: "grants" });
    const node = masters[Math.floor(share * 5) % masters.length] as RedisNode;
    await node.kill();
    await node.restart();
  }
  await done;
  expect(tokens.length).toBeGreaterThanOrEqual(grants);
  expect(rises(tokens)).toBe(true);
}, 300_000);

/**
 * A holder that receives nothing any more goes on writing. Once the next holder has written, the resource must refuse its
 * writes.
 */
async function pausedHolder(fencing: (name: string) => Promise<bigint>, name: string): Promise<void> {
  const links = await Promise.all(
    masters.map(({ port }) => startRedisProxy({ target: { host: "127.0.0.1", port } })),
  );
  for (const link of links) opened.push(link);
  const gate = tokenGate();
  const stale = await client({ fencing, purpose: "correctness" }, links)
    .mutex(name)
    .acquire({ waitMs: 10_000, renew: false });
  const paused = stale.token as bigint;
  expect(gate.admit(name, paused)).toBe(true);
  await Promise.all(links.map((link: RedisProxy) => link.setMode("stall")));
  const next = await client({ fencing, purpose: "correctness" }).mutex(name).acquire({ waitMs: 20_000 });
  expect(next.token).toBeGreaterThan(paused);
  expect(gate.admit(name, next.token as bigint)).toBe(true);
  // The old holder does not check its lock, like a process that was paused just after its check.
  expect(gate.admit(name, paused)).toBe(false);
  // The same holder may write again.
  expect(gate.admit(name, next.token as bigint)).toBe(true);
  await next.release();
}

it("with a counter in ZooKeeper a paused holder's writes are refused by the resource", async () => {
  const server = await startZooKeeper();
  opened.push({ close: () => server.stop() });
  const counters = zookeeperLocks({ connect: server.connectString });
  opened.push(counters);
  await pausedHolder((name) => counters.atomicLong(`fences/${name}`).add(1n), "by zookeeper");
});

it("with a counter in one Redis a paused holder's writes are refused by the resource", async () => {
  const counter = await startRedis({ appendOnly: "always" });
  opened.push({ close: () => counter.stop() });
  const redis = new Redis(counter.url);
  opened.push({ close: () => redis.quit() });
  await pausedHolder(async (name) => BigInt(await redis.incr(`fence:${name}`)), "by redis");
});

it("who says that it is about correctness is refused without a source that orders tokens", () => {
  const nodes = urlsOf(masters);
  for (const fencing of [undefined, "none", "write-back"] as const) {
    const options = { nodes, purpose: "correctness" as const, ...(fencing !== undefined && { fencing }) };
    expect(() => redLocks(options)).toThrow(InvalidArgumentError);
    expect(() => redLocks(options)).toThrow("one ordering source");
  }
});
