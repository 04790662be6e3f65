import {
  type RedisCluster,
  type RedisNode,
  type RedisReplicaSet,
  startRedis,
  startRedisCluster,
  startRedisReplicaSet,
} from "@holdfast/test-servers";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ContentionLog } from "../../interop/contention-log.js";
import { presenceFolder } from "../../interop/presence.js";
import type { RedissonClient } from "../../support/redisson/redisson-client.js";
import type { RedissonExclusive } from "../../support/redisson/redisson-contention.js";
import { type RedissonPeer, startRedissonPeer } from "../../support/redisson/redisson-peer.js";
import { withEachRedisson } from "./each-redisson.js";

let replicaSet: RedisReplicaSet;
let cluster: RedisCluster;

beforeAll(async () => {
  [replicaSet, cluster] = await Promise.all([startRedisReplicaSet({ replicas: 1 }), startRedisCluster()]);
});

afterAll(async () => {
  await replicaSet?.stop();
  await cluster?.stop();
});

/** Shows that each of Redisson's locks can be driven from here, which the other interop tests rely on. */
withEachRedisson(
  "the peer drives",
  (redisson) => {
    let redis: RedisNode;
    let java: RedissonPeer;
    let one: RedissonClient;
    let two: RedissonClient;
    let contenders: RedissonClient[];

    beforeAll(async () => {
      [redis, java] = await Promise.all([startRedis(), startRedissonPeer({ redisson })]);
      [one, two] = await Promise.all([connect(java), connect(java)]);
      // The release of a write lock wakes only those waiters that Redisson finds asleep. It seems that a waiter which is just
      // about to sleep sleeps for as long as the lease was when it looked. Now and then that costs a round the whole lease,
      // which is 30 s by default.
      contenders = await Promise.all([connect(java, 5_000), connect(java, 5_000)]);
    });

    afterAll(async () => {
      await java?.close();
      await redis?.stop();
    });

    function connect(jvm: RedissonPeer, lockWatchdogTimeoutMs = 30_000): Promise<RedissonClient> {
      return jvm.connect({ servers: { mode: "single", address: redis.url }, lockWatchdogTimeoutMs });
    }

    it("a client of the version it says", () => {
      expect(java.redissonVersion).toMatch(redisson === "4.x" ? /^4\./ : /^3\.52\./);
      expect(one.id).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
      expect(two.id).not.toBe(one.id);
    });

    it("a lock: re-entrant on its thread, closed to others, and open by force", async () => {
      const [mine, theirs] = await Promise.all([one.lock("plain"), two.lock("plain")]);
      await mine.lock();
      expect(await mine.tryLock()).toBe(true);
      expect(await fields("plain")).toEqual({ [await mine.owner()]: "2" });
      expect([await mine.holdCount(), await mine.isHeldByCurrentThread()]).toEqual([2, true]);
      expect(await mine.isHeldByCurrentThread({ thread: "other" })).toBe(false);
      expect(await mine.tryOnce({ thread: "other" })).toBe(false);
      expect([await theirs.isLocked(), await theirs.holdCount()]).toEqual([true, 0]);
      expect(await theirs.tryLock({ waitMs: 50 })).toBe(false);
      await expect(theirs.unlock()).rejects.toThrow("IllegalMonitorStateException");
      expect(await mine.remainingMs()).toBeGreaterThan(15_000);
      await mine.unlock();

      const waiting = theirs.lock({ leaseMs: 5_000 });
      await expect.poll(() => subscribers("redisson_lock__channel:{plain}")).toBe(1);
      await mine.unlock();
      await waiting;
      expect(await mine.remainingMs()).toBeLessThanOrEqual(5_000);
      expect([await mine.forceUnlock(), await mine.forceUnlock()]).toEqual([true, false]);
      expect([await mine.isLocked(), await mine.remainingMs()]).toEqual([false, -2]);
      await expect(theirs.unlock()).rejects.toThrow("IllegalMonitorStateException");
    });

    it("two objects on one thread, which are one holder", async () => {
      const [first, second] = await Promise.all([one.lock("shared-thread"), one.lock("shared-thread")]);
      await first.lock({ thread: "shared" });
      expect(await second.tryLock({ thread: "shared" })).toBe(true);
      expect(await first.owner({ thread: "shared" })).toBe(await second.owner({ thread: "shared" }));
      expect(await second.holdCount({ thread: "shared" })).toBe(2);
      await first.unlock({ thread: "shared" });
      await second.unlock({ thread: "shared" });
      expect(await first.isLocked()).toBe(false);
    });

    it("a fair lock: waiters stand in a queue and come in its order", async () => {
      const [holder, first, second] = await Promise.all(
        [one, two, one].map((client) => client.lock("fair", "fair")),
      );
      const queue = () => redis.command("lrange", "redisson_lock_queue:{fair}", "0", "-1");
      const owners = [await first?.owner(), await second?.owner()];
      const came: string[] = [];
      await holder?.lock();
      expect(await first?.tryOnce()).toBe(false);
      expect(await queue()).toEqual([]);
      const waiting = [first?.lock().then(() => came.push("first"))];
      await expect.poll(queue).toEqual(owners.slice(0, 1));
      waiting.push(second?.lock().then(() => came.push("second")));
      await expect.poll(queue).toEqual(owners);
      await holder?.unlock();
      await waiting[0];
      expect(came).toEqual(["first"]);
      await first?.unlock();
      await waiting[1];
      await second?.unlock();
      expect(came).toEqual(["first", "second"]);
    });

    it("a spin lock: it waits without a subscription", async () => {
      const [mine, theirs] = await Promise.all([one.lock("spin", "spin"), two.lock("spin", "spin")]);
      await mine.lock();
      const waiting = theirs.tryLock({ waitMs: 10_000, leaseMs: 10_000 });
      expect(await mine.tryOnce({ thread: "other" })).toBe(false);
      expect(await subscribers("redisson_lock__channel:{spin}")).toBe(0);
      await mine.unlock();
      expect(await waiting).toBe(true);
      await theirs.unlock();
    });

    it("a read-write lock: readers together, and a writer who becomes a reader", async () => {
      const [mine, theirs] = await Promise.all([one.readWriteLock("rw"), two.readWriteLock("rw")]);
      await mine.write.lock();
      expect(await theirs.read.tryLock({ waitMs: 50 })).toBe(false);
      expect(await mine.read.tryLock()).toBe(true);
      const owner = await mine.write.owner();
      expect(await mine.read.owner()).toBe(owner);
      expect(await fields("rw")).toEqual({
        mode: "write",
        [`${owner}:write`]: "1",
        [owner]: "1",
      });
      await mine.write.unlock();
      expect(await theirs.read.tryLock({ leaseMs: 60_000 })).toBe(true);
      expect(await redis.command("get", `{rw}:${owner}:rwlock_timeout:1`)).toBe("1");
      expect(await theirs.write.tryLock({ thread: "writer" })).toBe(false);
      expect([await theirs.write.isLocked(), await theirs.read.isLocked()]).toEqual([false, true]);
      await theirs.read.unlock();
      expect(await mine.read.holdCount()).toBe(1);
      await mine.read.unlock();
      expect(await theirs.write.tryLock({ waitMs: 5_000 })).toBe(true);
      expect(await theirs.write.forceUnlock()).toBe(true);
    });

    it("a fenced lock: each grant of anybody has the next token", async () => {
      const [mine, theirs] = await Promise.all([one.fencedLock("fenced"), two.fencedLock("fenced")]);
      expect(await mine.token()).toBe(0n);
      expect(await mine.lockAndGetToken()).toBe(1n);
      expect(await theirs.tryLockAndGetToken()).toBeNull();
      await mine.unlock();
      expect(await theirs.tryLockAndGetToken({ waitMs: 5_000, leaseMs: 10_000 })).toBe(2n);
      await theirs.unlock();
      await mine.lock();
      await mine.unlock();
      expect(await theirs.token()).toBe(3n);
      expect(await redis.command("get", "redisson_lock_token:{fenced}")).toBe("3");
    });

    it("a semaphore: permits without owners, several at a time", async () => {
      const [mine, theirs] = await Promise.all([one.semaphore("semaphore"), two.semaphore("semaphore")]);
      expect([await mine.trySetPermits(3), await theirs.trySetPermits(4)]).toEqual([true, false]);
      expect(await mine.acquire(2)).toBe(true);
      expect(await theirs.acquire(2, { waitMs: 50 })).toBe(false);
      const waiting = theirs.acquire(2);
      await expect.poll(() => subscribers("redisson_sc:{semaphore}")).toBe(1);
      await theirs.release(1);
      expect(await waiting).toBe(true);
      expect(await mine.availablePermits()).toBe(0);
      await mine.addPermits(5);
      expect([await theirs.drainPermits(), await redis.command("get", "semaphore")]).toEqual([5, "0"]);
      expect([await mine.delete(), await mine.delete()]).toEqual([true, false]);
      expect(await mine.trySetPermits(1, { timeToLiveMs: 60_000 })).toBe(true);
      expect(await redis.command("pttl", "semaphore")).toBeGreaterThan(50_000);
    });

    it("a permit semaphore: permits with ids, which end with their leases", async () => {
      const [mine, theirs] = await Promise.all([
        one.permitSemaphore("permits"),
        two.permitSemaphore("permits"),
      ]);
      expect([await mine.trySetPermits(2), await theirs.trySetPermits(3)]).toEqual([true, false]);
      const ids = await mine.acquireSeveral(2, { leaseMs: 60_000 });
      expect(ids).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/), expect.stringMatching(/^[0-9a-f]{32}$/)]);
      const [first = "", second = ""] = ids ?? [];
      const script = "return #redis.call('zrange', KEYS[1], 0, 0)[1]";
      expect(await redis.command("eval", script, "1", "{permits}:timeout")).toBe(16);
      expect(await theirs.acquire({ waitMs: 50 })).toBeNull();
      expect(await theirs.permits()).toEqual({ free: 0, taken: 2, total: 2 });
      expect(await mine.remainingMs(first)).toBeGreaterThan(50_000);
      // A lease ends without a release. The waiter gets no message, and looks again by itself.
      expect(await mine.updateLease(first, 300)).toBe(true);
      const third = await theirs.acquire({ waitMs: 10_000, leaseMs: 60_000 });
      expect(third).toMatch(/^[0-9a-f]{32}$/);
      expect([await mine.updateLease(first, 300), await mine.tryRelease(first)]).toEqual([false, 0]);
      await expect(mine.release(first)).rejects.toThrow("IllegalArgumentException");
      await mine.release(second, third ?? "");
      await mine.setPermits(5);
      expect(await theirs.permits()).toEqual({ free: 5, taken: 0, total: 5 });
      await mine.addPermits(-4);
      expect((await theirs.permits()).free).toBe(1);
      expect(await mine.delete()).toBe(true);
    });

    it("a latch: its waiters go on at zero", async () => {
      const [mine, theirs] = await Promise.all([one.latch("latch"), two.latch("latch")]);
      expect(await theirs.wait()).toBe(true);
      expect([await mine.trySetCount(2), await theirs.trySetCount(1)]).toEqual([true, false]);
      expect(await theirs.wait({ waitMs: 50 })).toBe(false);
      const waiting = theirs.wait();
      await mine.countDown();
      expect(await theirs.count()).toBe(1);
      await theirs.countDown();
      expect(await waiting).toBe(true);
      expect([await mine.count(), await mine.delete()]).toEqual([0, false]);
    });

    it("a multi lock: all names or none", async () => {
      const [all, last] = await Promise.all([one.multiLock(["multi:1", "multi:2"]), two.lock("multi:2")]);
      await all.lock();
      expect(await redis.command("exists", "multi:1", "multi:2")).toBe(2);
      expect(await last.tryLock({ waitMs: 50 })).toBe(false);
      await all.unlock();
      expect(await last.tryLock({ waitMs: 5_000 })).toBe(true);
      expect(await all.tryLock({ waitMs: 50 })).toBe(false);
      expect(await redis.command("exists", "multi:1")).toBe(0);
      await last.unlock();
    });

    const exclusive: RedissonExclusive[] = ["plain", "fair", "spin", "write", "fenced", "multi"];
    it.each(exclusive)(
      "contenders for a file that only a %s lock protects, and they lose no update",
      async (kind) => {
        await using log = await ContentionLog.start();
        const contention = { name: `contend:${kind}`, ...log.files, grants: 25 };
        const had = await Promise.all(
          contenders.map((client, at) =>
            client.contend({ ...contention, label: `java-${at}` }, 60_000, kind),
          ),
        );
        expect(had.map(({ grants }) => grants)).toEqual([25, 25]);
        const grants = await log.expectOrderly(50);
        // In the log, a fenced lock's token is at the place where Curator's contenders write the czxid of the node.
        expect(grants.every(({ czxid }) => (czxid === null) === (kind !== "fenced"))).toBe(true);
      },
    );

    it("a contender that holds for a while and ends with its time", async () => {
      await using log = await ContentionLog.start();
      const contention = { name: "contend:time", ...log.files, grants: 10_000, forMs: 2_000, holdMs: 5 };
      const had = await one.contend({ ...contention, leaseMs: 10_000, label: "java" }, 60_000);
      expect(had.grants).toBeGreaterThan(1);
      expect(had.grants).toBeLessThanOrEqual(401);
      await log.expectOrderly(had.grants);
    });

    it.each(["semaphore", "permitSemaphore"] as const)(
      "contenders for one to three permits of a %s at a time, and never more than there are",
      async (kind) => {
        await using log = await ContentionLog.start();
        const folder = await presenceFolder(log);
        const name = `contend:${kind}`;
        await (await one[kind](name)).trySetPermits(3);
        const contention = { name, limit: 3, folder, grants: 12, mostAtOnce: 3 };
        const seen = await Promise.all(
          contenders.map((client, at) =>
            client.contendSemaphore({ ...contention, label: `java-${at}` }, 60_000, kind),
          ),
        );
        expect(Math.max(...seen.map(({ mostTaken }) => mostTaken))).toBe(3);
      },
    );

    it("readers and writers that become readers, alone while they write", async () => {
      await using log = await ContentionLog.start();
      const folder = await presenceFolder(log);
      const { counterFile } = log.files;
      const contention = {
        name: "contend:rw",
        counterFile,
        folder,
        turns: 12,
        writeEvery: 3,
        downgrade: true,
      };
      const seen = await Promise.all(
        contenders.map((client, at) =>
          client.contendReadWrite({ ...contention, label: `java-${at}` }, 60_000),
        ),
      );
      expect(seen.map(({ writes }) => writes)).toEqual([4, 4]);
    });

    it("a process that renews what it holds, not while it stands still, and dies without a word", async () => {
      await using jvm = await startRedissonPeer({ redisson });
      // After its death the JVM's hold has to be seen before this lease is over.
      const client = await connect(jvm, 4_000);
      const [kept, lost, mine] = await Promise.all([
        client.lock("kept"),
        client.lock("lost"),
        one.lock("kept"),
      ]);
      await Promise.all([kept.lock(), lost.lock()]);
      // The remaining time rises although time has passed, so the hold was renewed.
      let leastMs = await mine.remainingMs();
      await expect
        .poll(async () => {
          const leftMs = await mine.remainingMs();
          const renewed = leftMs > leastMs;
          leastMs = Math.min(leastMs, leftMs);
          return renewed;
        })
        .toBe(true);
      await jvm.pause();
      expect(await mine.tryLock({ waitMs: 15_000 })).toBe(true);
      jvm.resume();
      await expect(kept.unlock()).rejects.toThrow("IllegalMonitorStateException");
      await mine.unlock();

      await kept.lock();
      await jvm.kill();
      expect(await mine.tryLock()).toBe(false);
      expect(await mine.tryLock({ waitMs: 15_000 })).toBe(true);
      await mine.unlock();
    });

    it("a client that logs in", async () => {
      await redis.command("acl", "setuser", "java", "on", ">secret", "~*", "&*", "+@all");
      const servers = { mode: "single", address: redis.url } as const;
      const client = await java.connect({ servers, username: "java", password: "secret" });
      expect(await (await client.lock("acl")).tryLock({ leaseMs: 10_000 })).toBe(true);
      expect(await redis.command("client", "list")).toMatch(/ user=java /);
      await client.close();
      await expect(
        java.connect({ servers, username: "java", password: "wrong", retryAttempts: 0 }),
      ).rejects.toThrow(/WRONGPASS/);
    });

    it("a client of a master that sentinels name, and of its replica", async () => {
      const sentinels = replicaSet.sentinelAddresses.map(({ host, port }) => `redis://${host}:${port}`);
      const servers = { mode: "sentinel", masterName: replicaSet.name, sentinels } as const;
      const client = await java.connect({ servers });
      const lock = await client.lock(`sentinel:${redisson}`);
      await lock.lock();
      for (const node of replicaSet.nodes) {
        expect(await fields(`sentinel:${redisson}`, node)).toEqual({ [await lock.owner()]: "1" });
      }
      await lock.unlock();
      await client.close();
    });

    it("a client of a cluster, which subscribes to shards unless it is set otherwise", async () => {
      const nodes = cluster.addresses.map(({ host, port }) => `redis://${host}:${port}`);
      for (const [shardedSubscriptionMode, told] of [
        ["AUTO", "shardnumsub"],
        ["OFF", "numsub"],
      ] as const) {
        const client = await java.connect({ servers: { mode: "cluster", nodes, shardedSubscriptionMode } });
        const name = `cluster:${redisson}:${shardedSubscriptionMode}`;
        const [mine, theirs] = await Promise.all([client.lock(name), client.lock(name)]);
        await mine.lock();
        const waiting = theirs.lock();
        const channel = `redisson_lock__channel:{${name}}`;
        const all = () => Promise.all(cluster.nodes.map((node) => subscribers(channel, node, told)));
        await expect.poll(async () => (await all()).filter((count) => count === 1)).toHaveLength(1);
        await mine.unlock();
        await waiting;
        await theirs.unlock();
        await client.close();
      }
    });

    /** The fields of a hash. */
    async function fields(name: string, server = redis): Promise<Record<string, string>> {
      const words = (await server.command("hgetall", name)) as string[];
      return Object.fromEntries(
        words.flatMap((word, at) => (at % 2 === 0 ? [[word, words[at + 1] ?? ""]] : [])),
      );
    }

    async function subscribers(channel: string, server = redis, told = "numsub"): Promise<number> {
      const [, count] = (await server.command("pubsub", told, channel)) as [string, number];
      return count;
    }
  },
  { newestAlone: true },
);
