import { setTimeout as delay } from "node:timers/promises";
import { type RedisLocks, redisLocks } from "@holdfast/redis-recipes";
import { eventually, type RedisNode, startRedis } from "@holdfast/test-servers";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Held, kindNames, kinds } from "./faulty-server.js";

let server: RedisNode;
beforeAll(async () => {
  server = await startRedis();
  await server.command("CONFIG", "SET", "maxmemory-policy", "noeviction");
});
afterAll(() => server?.stop());

const semaphore = (locks: RedisLocks, name: string): Promise<Held> => locks.semaphore(name, 3).acquire();

it("a server without memory renews all that is held, takes waiters out and gives back what is released", async () => {
  // On a busy machine renewals come late, and these holds must outlast that.
  const locks = redisLocks({ url: server.url, leaseMs: 3_000 });
  try {
    const lost: string[] = [];
    locks.events.on("lost", ({ name }) => lost.push(name));
    const renewed = new Map<string, number>();
    locks.events.on("renewed", ({ name }) => renewed.set(name, (renewed.get(name) ?? 0) + 1));
    const held = new Map<string, Held>();
    for (const kind of kindNames) held.set(kind, await kinds[kind](locks, kind));
    held.set("semaphore", await semaphore(locks, "semaphore"));
    const ended = new AbortController();
    const waiting = [
      locks.mutex("mutex"),
      locks.fairMutex("fair mutex"),
      locks.readWriteLock("read").write,
    ].map((lock) =>
      lock.acquire({ waitMs: 60_000, signal: ended.signal }).catch((error: Error) => error.name),
    );
    const queues = [
      "holdfast_waiters:{mutex}",
      "redisson_lock_queue:{fair mutex}",
      "holdfast_waiters:{read}",
    ];
    await eventually(async () => (await server.command("EXISTS", ...queues)) === 3, { what: "all to wait" });

    await server.command("CONFIG", "SET", "maxmemory", "1");
    await expect(locks.mutex("new").tryAcquire({ signal: AbortSignal.timeout(200) })).rejects.toThrow();
    renewed.clear();
    const all = [...held.keys()];
    await eventually(() => lost.length > 0 || all.every((name) => (renewed.get(name) ?? 0) >= 5), {
      what: "more than a lease of renewals of each",
    });
    expect(lost).toEqual([]);
    ended.abort();
    expect(await Promise.all(waiting)).toEqual(["AbortError", "AbortError", "AbortError"]);
    await eventually(async () => (await server.command("EXISTS", ...queues)) === 0, {
      what: "the waiters to leave their queues",
    });
    for (const [kind, each] of held) expect([kind, await each.release()]).toEqual([kind, "released"]);
    expect(await server.command("GET", "semaphore")).toBe("3");
  } finally {
    await server.command("CONFIG", "SET", "maxmemory", "0");
    await locks.close();
  }
});

it("waiters at a server without memory keep their places for longer than they count as alive, and are granted in their order", async () => {
  const aliveMs = 400;
  const locks = redisLocks({ url: server.url, heartbeatMs: 100, aliveMs, commandTimeoutMs: 300 });
  try {
    const queued = [
      { lock: locks.mutex("q:mutex"), list: "holdfast_waiters:{q:mutex}" },
      { lock: locks.fairMutex("q:fair"), list: "redisson_lock_queue:{q:fair}" },
      { lock: locks.readWriteLock("q:write").write, list: "holdfast_waiters:{q:write}" },
    ];
    for (const { lock, list } of queued) {
      const held = await lock.acquire();
      const granted: string[] = [];
      const waiting: Promise<Held>[] = [];
      for (const who of ["first", "second"]) {
        waiting.push(
          lock.acquire({ waitMs: 10_000 }).then((hold) => {
            granted.push(who);
            return hold;
          }),
        );
        await eventually(async () => (await server.command("LLEN", list)) === waiting.length, {
          what: `the ${who} to wait`,
        });
      }
      await server.command("CONFIG", "SET", "maxmemory", "1");
      await delay(3 * aliveMs);
      await held.release();
      await (await (waiting[0] as Promise<Held>)).release();
      await (await (waiting[1] as Promise<Held>)).release();
      await server.command("CONFIG", "SET", "maxmemory", "0");
      expect([list, granted]).toEqual([list, ["first", "second"]]);
    }
  } finally {
    await server.command("CONFIG", "SET", "maxmemory", "0");
    await locks.close();
  }
});
