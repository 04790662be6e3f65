import { redisLocks } from "@holdfast/redis-recipes";
import { eventually, startRedisReplicaSet } from "@holdfast/test-servers";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import type { RedissonFencedLock } from "../../support/redisson/redisson-lock.js";
import { withEachRedisson } from "./each-redisson.js";
import { RedissonFixture } from "./fixture.js";

const waitMs = 30_000;
const tokenKey = (name: string): string => `redisson_lock_token:{${name}}`;

withEachRedisson(
  "fencing tokens of a mutex of ours and an RFencedLock",
  (redisson) => {
    let fixture: RedissonFixture;

    beforeAll(async () => {
      fixture = await RedissonFixture.start(redisson, 3_000);
    });

    afterAll(() => fixture?.close());

    async function javaGrant(lock: RedissonFencedLock): Promise<bigint> {
      const token = await lock.tryLockAndGetToken({ waitMs });
      await lock.unlock();
      if (token === null) throw new Error(`no grant within ${waitMs} ms`);
      return token;
    }

    it("rise from grant to grant, on both sides, and are what RFencedLock says", async () => {
      const mutex = (await fixture.ours()).mutex("rise");
      const lock = await (await fixture.redisson()).fencedLock("rise");
      const tokens: (bigint | null)[] = [await javaGrant(lock)];
      for (let round = 0; round < 5; round += 1) {
        const hold = await mutex.acquire({ waitMs });
        expect(await lock.token()).toBe(hold.token);
        tokens.push(hold.token);
        await hold.release();
        tokens.push(await javaGrant(lock), await javaGrant(lock));
      }
      expectRising(tokens);
    });

    it("go on behind a plain lock of Java's, which takes none", async () => {
      const mutex = (await fixture.ours()).mutex("plain");
      const plain = await (await fixture.redisson()).lock("plain");
      const first = await mutex.acquire({ waitMs });
      const waiting = plain.lock();
      await first.release();
      await waiting;
      const next = mutex.acquire({ waitMs });
      await plain.unlock();
      const second = await next;
      expectRising([first.token, second.token]);
      await second.release();
    });

    it("go on where the token key was deleted, for both from our next request on", async () => {
      const mutex = (await fixture.ours()).mutex("deleted");
      const lock = await (await fixture.redisson()).fencedLock("deleted");
      const tokens: (bigint | null)[] = [];
      for (let round = 0; round < 3; round += 1) {
        const hold = await mutex.acquire({ waitMs });
        tokens.push(hold.token);
        await hold.release();
        tokens.push(await javaGrant(lock));
        await fixture.redis.command("del", tokenKey("deleted"));
      }
      expectRising(tokens);
    });

    it("go on for Java after a deletion while one of ours waits, which puts the last one back", async () => {
      const locks = await fixture.ours({ heartbeatMs: 100, aliveMs: 1_000 });
      const client = await fixture.redisson();
      const [holder, waiter] = [await client.fencedLock("waiting"), await client.fencedLock("waiting")];
      const mutex = locks.mutex("waiting");
      const first = await mutex.acquire({ waitMs });
      await first.release();
      const held = await holder.lockAndGetToken();
      const cancel = new AbortController();
      const ours = mutex.acquire({ waitMs, signal: cancel.signal });
      await expect.poll(async () => (await mutex.inspect()).pendingTotal).toBe(1);
      // By now the waiter's own heartbeat has seen the token of the holder.
      const seen = await fixture.redis.command("get", tokenKey("waiting"));
      expect(seen).toBe(String(held));
      await heartbeats(fixture, 2);
      await fixture.redis.command("del", tokenKey("waiting"));
      await expect
        .poll(async () => BigInt(String((await fixture.redis.command("get", tokenKey("waiting"))) ?? 0)))
        .toBeGreaterThan(held);
      cancel.abort();
      await expect(ours).rejects.toThrow();
      await holder.unlock();
      expectRising([first.token, held, await javaGrant(waiter)]);
    });

    it("start from 1 again for Java alone when the key is deleted and no client of ours asks: only ours can know", async () => {
      const mutex = (await fixture.ours()).mutex("java-alone");
      const lock = await (await fixture.redisson()).fencedLock("java-alone");
      const first = await mutex.acquire({ waitMs });
      await first.release();
      await fixture.redis.command("del", tokenKey("java-alone"));
      expect(await javaGrant(lock)).toBe(1n);
      const second = await mutex.acquire({ waitMs });
      await second.release();
      expectRising([first.token, second.token, await javaGrant(lock)]);
    });

    it("go on after all data was lost", async () => {
      const mutex = (await fixture.ours()).mutex("flushed");
      const lock = await (await fixture.redisson()).fencedLock("flushed");
      const first = await mutex.acquire({ waitMs });
      await first.release();
      const second = await javaGrant(lock);
      await fixture.redis.command("flushall");
      const fresh = (await fixture.ours()).mutex("flushed");
      const third = await fresh.acquire({ waitMs });
      await third.release();
      expectRising([first.token, second, third.token, await javaGrant(lock)]);
    });

    it("go on after a failover that lost the last grants of both", async () => {
      const set = await startRedisReplicaSet({ replicas: 1, replicationProxies: true });
      onTestFinished(() => set.stop());
      const addresses = set.sentinelAddresses;
      const sentinels = addresses.map(({ host, port }) => `redis://${host}:${port}`);
      const servers = { mode: "sentinel", masterName: set.name, sentinels } as const;
      const locks = redisLocks({
        sentinels: { sentinels: addresses, name: set.name },
        leaseMs: 3_000,
        heartbeatMs: 200,
        aliveMs: 2_000,
      });
      onTestFinished(async () => {
        await locks.close({ releaseTimeoutMs: 1_000 });
      });
      const client = await fixture.redisson({
        servers,
        // This test is about grants that no replica has, so Redisson must not refuse them.
        checkLockSyncedSlaves: false,
        slavesSyncTimeoutMs: 50,
      });
      const [lock, holder] = [await client.fencedLock("failover"), await client.fencedLock("failover")];
      const mutex = locks.mutex("failover");
      const kept = await mutex.acquire({ waitMs });
      await kept.release();
      const keptToo = await javaGrant(lock);

      const [master, replica] = [await set.master(), (await set.replicas())[0]];
      if (replica === undefined) throw new Error("no replica");
      const read = (node: typeof master) => node.command("get", tokenKey("failover"));
      await expect.poll(() => read(replica)).toBe(String(keptToo));
      set.cutReplication(replica);
      const lost = await javaGrant(lock);
      const lostToo = await mutex.acquire({ waitMs });
      await lostToo.release();
      const heldByJava = await holder.lockAndGetToken();
      const waiting = mutex.acquire({ waitMs: 60_000 });
      await expect.poll(async () => (await mutex.inspect()).pendingTotal).toBe(1);
      expect(await read(master)).toBe(String(heldByJava));
      expect(await read(replica)).toBe(String(keptToo));

      await set.killMaster();
      const next = await waiting;
      expect(await read(replica)).toBe(String(next.token));
      await next.release();
      const after = await eventually(() => lock.tryLockAndGetToken({ waitMs: 1_000 }).catch(notYet), {
        what: "Redisson to be granted by the new master",
        withinMs: 40_000,
      });
      expectRising([kept.token, keptToo, lost, lostToo.token, heldByJava, next.token, after]);
    }, 300_000);
  },
  { newestAlone: true },
);

/** Accepts Redisson's errors of the time in which it has not found the new master yet. Throws any other error. */
function notYet(error: Error): undefined {
  if (!/Redis|connect|time/i.test(error.message)) throw error;
}

/** Waits until the server has run `count` more scripts. These are heartbeats of our waiters. */
async function heartbeats(fixture: RedissonFixture, count: number): Promise<void> {
  const calls = async () => {
    const stats = String(await fixture.redis.command("info", "commandstats"));
    return Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1] ?? 0);
  };
  const before = await calls();
  await expect.poll(calls, { timeout: 10_000 }).toBeGreaterThanOrEqual(before + count);
}

function expectRising(tokens: readonly (bigint | null)[]): void {
  for (const [at, token] of tokens.entries()) {
    expect(token, `token ${at} of ${tokens}`).not.toBeNull();
    if (at > 0) expect(token, `token ${at} of ${tokens}`).toBeGreaterThan(tokens[at - 1] as bigint);
  }
}
