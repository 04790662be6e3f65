import { type RedisNode, startRedis } from "@holdfast/test-servers";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Random } from "../../../src/engine/random.js";
import { RedisObserver } from "../../../src/engine/topologies/redis-look.js";
import type { WorkerKey } from "../../../src/workload/protocol.js";
import type { Ask, Client } from "../../../src/workload/recipe.js";
import { naiveKey } from "../../../src/workload/recipes/naive-key.js";
import { redis } from "../../../src/workload/recipes/redis.js";

let node: RedisNode;
let observer: RedisObserver;
const clients: Client[] = [];

beforeAll(async () => {
  node = await startRedis();
});
beforeEach(() => {
  observer = new RedisObserver(async () => [node]);
});
afterEach(async () => {
  await observer.close();
  await Promise.all(clients.splice(0).map((client) => client.close()));
  await node.command("FLUSHALL");
});
afterAll(() => node.stop());

const key = (more: Partial<WorkerKey> = {}): WorkerKey => ({
  id: "k1",
  name: "chaos-1-1-T-k1",
  kind: "mutex",
  backend: "redis",
  leaseMs: 20_000,
  ...more,
});

async function client(recipe: typeof redis, p: string, about: WorkerKey, named = true): Promise<Client> {
  const { host, port } = node;
  const opened = await recipe.open({
    p,
    servers: { kind: "redis", address: { host, port } },
    keys: [about],
    leaseMs: about.leaseMs,
    options: { named },
    random: new Random(1, p),
    tell: () => {},
  });
  clients.push(opened);
  return opened;
}

const ask = (about: WorkerKey, label: string): Ask => ({
  key: about,
  label,
  mode: "write",
  once: false,
  permits: 1,
  waitMs: 20_000,
  thread: "c0",
  signal: new AbortController().signal,
});

describe("the observer of Redis", () => {
  it.each(["mutex", "fair"] as const)(
    "names who holds and who waits at a %s, in their order",
    async (kind) => {
      const about = key({ kind });
      const [a, b, c] = [
        await client(redis, "w0#0", about),
        await client(redis, "w1#0", about),
        await client(redis, "w2#0", about),
      ];
      const held = await a.acquire(ask(about, "w0#0:1"));
      expect(await observer.look(about)).toEqual({ holders: ["w0#0:1"], queue: [] });
      const second = b.acquire(ask(about, "w1#0:7"));
      await expect.poll(async () => (await observer.look(about)).queue).toEqual(["w1#0:7"]);
      const third = c.acquire(ask(about, "w2#0:3"));
      await expect.poll(async () => (await observer.look(about)).queue).toEqual(["w1#0:7", "w2#0:3"]);
      await held?.release();
      const next = await second;
      expect(await observer.look(about)).toEqual({ holders: ["w1#0:7"], queue: ["w2#0:3"] });
      await next?.release();
      await (await third)?.release();
      expect(await observer.look(about)).toEqual({ holders: [], queue: [] });
      expect(await observer.left(about)).toEqual([]);
    },
  );

  it("reports a lock that was not given back, a queue without an end and a permit that is missing", async () => {
    const about = key();
    const naive = await client(naiveKey, "n0#0", about);
    const held = await naive.acquire(ask(about, "n0#0:1"));
    expect((await observer.left(about)).join()).toMatch(
      /^chaos-1-1-T-k1 \(string, \d+ ms to live, port \d+\)$/,
    );
    await held?.release();
    expect(await observer.left(about)).toEqual([]);

    await node.command("RPUSH", `redisson_lock_queue:{${about.name}}`, "somebody");
    expect(await observer.left(about)).toEqual([
      `redisson_lock_queue:{${about.name}} (list, no end, port ${node.port})`,
    ]);
    await node.command("DEL", `redisson_lock_queue:{${about.name}}`);

    const semaphore = key({ kind: "semaphore", limit: 3 });
    await node.command("SET", semaphore.name, 2);
    expect(await observer.left(semaphore)).toHaveLength(1);
    await node.command("SET", semaphore.name, 3);
    expect(await observer.left(semaphore)).toEqual([]);
  });

  it("does not count what outlives a hold on purpose and goes by itself: tokens", async () => {
    const about = key();
    const ours = await client(redis, "w0#0", about, false);
    await (await ours.acquire(ask(about, "w0#0:1")))?.release();
    expect(Number(await node.command("EXISTS", `redisson_lock_token:{${about.name}}`))).toBe(1);
    expect(await observer.left(about)).toEqual([]);
  });

  it("looks at the parts of a multi-lock", async () => {
    const about = key({ kind: "multi" });
    const ours = await client(redis, "w0#0", about, false);
    const held = await ours.acquire(ask(about, "w0#0:1"));
    expect(await observer.left(about)).toHaveLength(3);
    await held?.release();
    expect(await observer.left(about)).toEqual([]);
  });
});

describe("the naive client", () => {
  it("deletes whatever is there, though its own time was over", async () => {
    const about = key({ leaseMs: 100 });
    const [a, b] = [await client(naiveKey, "a0#0", about), await client(naiveKey, "b0#0", about)];
    const first = await a.acquire(ask(about, "a0#0:1"));
    expect(first?.lost).toBeNull();
    const second = await b.acquire({ ...ask({ ...about, leaseMs: 20_000 }, "b0#0:1") });
    expect(second).not.toBeNull();
    expect(await first?.release()).toEqual({ end: "ok" });
    expect(Number(await node.command("EXISTS", about.name))).toBe(0);
    expect(await second?.release()).toEqual({ end: "fail", why: "there was no key" });
  });
});
