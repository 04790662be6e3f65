import { setImmediate } from "node:timers/promises";
import { LayoutConflictError, type LockHandle } from "@holdfast/core";
import type { RedisLocks } from "@holdfast/redis-recipes";
import { eventually } from "@holdfast/test-servers";
import { expect, it } from "vitest";
import { OneServer, rare } from "../../support/redis/one-redis-server.js";
import { forceOpen } from "../../support/redis/redis-force.js";
import { share } from "../../support/share.js";

const server = new OneServer();
const channelOf = (name: string): string => `redisson_rwlock:{${name}}`;

/** Waits until `clients` clients listen for the message that the lock is free. */
async function untilListening(name: string, clients: number): Promise<void> {
  await expect.poll(() => server.texts("PUBSUB", "NUMSUB", channelOf(name))).toContain(String(clients));
}

it("37: a downgraded write keeps writers out until its read is released", async () => {
  const name = server.name("downgrade");
  const lock = (await server.locks()).readWriteLock(name);
  const other = (await server.locks()).readWriteLock(name);
  const write = await lock.write.acquire();
  expect(await server.texts("HMGET", name, "mode")).toEqual(["write"]);
  const read = await write.downgrade();
  expect(await server.texts("HMGET", name, "mode")).toEqual(["read"]);
  expect(await other.write.tryAcquire()).toBeNull();
  await read.release();
  await (await other.write.acquire({ waitMs: 5_000 })).release();
});

it("37: a writer that reads as well still writes when its read is released", async () => {
  const name = server.name("both");
  const lock = (await server.locks()).reentrantReadWriteLock(name);
  const other = (await server.locks()).readWriteLock(name);
  await lock.write.withLock(async (write) => {
    await lock.read.withLock(async (read) => {
      expect(read.token).toBe(write.token);
      expect(await server.number("HLEN", name)).toBe(3);
    });
    expect(await server.texts("HMGET", name, "mode")).toEqual(["write"]);
    expect(await server.number("HLEN", name)).toBe(2);
    await write.confirm();
    expect(await other.read.tryAcquire()).toBeNull();
    expect(await other.write.tryAcquire()).toBeNull();
  });
  await (await other.write.acquire({ waitMs: 5_000 })).release();
});

it("38: a write blocks readers, and all that wait come in after its release", async () => {
  const name = server.name("all-in");
  const lock = (await server.locks()).readWriteLock(name);
  const others = [await server.locks(), await server.locks()];
  const write = await lock.write.acquire();
  expect(await (others[0] as (typeof others)[0]).readWriteLock(name).read.tryAcquire()).toBeNull();
  const reading = others.flatMap((each) =>
    Array.from({ length: 3 }, () => each.readWriteLock(name).read.acquire({ waitMs: 10_000 })),
  );
  await untilListening(name, 2);
  await write.release();
  const readers = await Promise.all(reading);
  for (const reader of readers) await reader.confirm();
  for (const reader of readers) await reader.release();
});

it("defect 30: readers that wait are granted at once after a downgrade, not at the end of a lease", async () => {
  const name = server.name("told");
  const write = await (await server.locks()).readWriteLock(name).write.acquire();
  const reading = (await server.locks(rare)).readWriteLock(name).read.acquire({ waitMs: 20_000 });
  await untilListening(name, 1);
  const startedMs = performance.now();
  const read = await write.downgrade();
  await (await reading).release();
  expect(performance.now() - startedMs).toBeLessThan(9_000);
  await read.release();
});

it("39: the hash lives as long as the longest read lease, and one that ends frees no other", async () => {
  const name = server.name("longest");
  const locks = await server.locks();
  const { read } = locks.readWriteLock(name);
  const short = await read.acquire({ leaseMs: 400, renew: false });
  const long = await read.acquire({ leaseMs: 20_000, renew: false });
  expect(await server.number("PTTL", name)).toBeGreaterThan(15_000);
  await expect.poll(() => short.state, { timeout: 20_000 }).toBe("lost");
  await long.confirm();
  expect(await (await server.locks()).readWriteLock(name).write.tryAcquire()).toBeNull();
  await long.release();
});

it("39: two readers with leases of their own keep a writer out until the longer one is over", async () => {
  const name = server.name("rrw");
  const { read } = (await server.locks()).readWriteLock(name);
  const startedMs = performance.now();
  const short = await read.acquire({ leaseMs: 400, renew: false });
  const long = await read.acquire({ leaseMs: 1_200, renew: false });
  const write = await (await server.locks()).readWriteLock(name).write.acquire({ waitMs: 10_000 });
  const enteredMs = performance.now() - startedMs;
  // A reader's hold ends here by a margin before its lease ends at the server, and its client then gives it back. So the writer
  // may enter a little early.
  expect(enteredMs).toBeGreaterThan(1_100);
  expect(enteredMs).toBeLessThan(9_000);
  expect([short.state, long.state]).toEqual(["lost", "lost"]);
  await write.release();
});

it("39: readers that come in behind a writer keep their own leases: the hash has the longest, the shorter one alone ends", async () => {
  const name = server.name("wrr");
  const write = await (await server.locks())
    .readWriteLock(name)
    .write.acquire({ leaseMs: 500, renew: false });
  const { read } = (await server.locks()).readWriteLock(name);
  const [short, long] = await Promise.all([
    read.acquire({ leaseMs: 600, renew: false, waitMs: 10_000 }),
    read.acquire({ leaseMs: 20_000, renew: false, waitMs: 10_000 }),
  ]);
  expect(write.state).toBe("lost");
  expect(await server.number("PTTL", name)).toBeGreaterThan(15_000);
  await eventually(() => short.state === "lost", { what: "the shorter read to end" });
  expect(await short.release()).toBe("lost");
  expect(await server.number("PTTL", name)).toBeGreaterThan(15_000);
  await long.confirm();
  expect(await long.release()).toBe("released");
  expect(await server.number("EXISTS", name)).toBe(0);
});

it("40: many readers and writers of several clients: writers are alone, readers overlap, and counters are exact", async () => {
  const name = server.name("mix");
  const rounds = share("rounds of each of 3 writers and 6 readers", 8, 200);
  const clients = await Promise.all(Array.from({ length: 3 }, () => server.locks()));
  const seen = { inside: 0, mostReaders: 0, writing: 0, wrong: 0 };
  // The two numbers are equal whenever no writer is at work.
  const counted = { one: 0, other: 0 };
  const write = async (locks: RedisLocks): Promise<void> => {
    for (let i = 0; i < rounds; i++) {
      await locks.readWriteLock(name).write.withLock(async () => {
        if (seen.inside > 0 || seen.writing > 0) seen.wrong++;
        seen.writing++;
        const { one } = counted;
        await setImmediate();
        counted.one = one + 1;
        await setImmediate();
        counted.other++;
        seen.writing--;
      });
    }
  };
  const read = async (locks: RedisLocks): Promise<number> => {
    let done = 0;
    for (; done < rounds; done++) {
      await locks.readWriteLock(name).read.withLock(async () => {
        seen.mostReaders = Math.max(seen.mostReaders, ++seen.inside);
        const { one } = counted;
        await setImmediate();
        if (counted.other !== one || counted.one !== one) seen.wrong++;
        seen.inside--;
      });
    }
    return done;
  };
  const reading = [...clients, ...clients].map(read);
  await Promise.all(clients.map(write));
  const reads = await Promise.all(reading);
  console.log(`${3 * rounds} writes and ${6 * rounds} reads, at most ${seen.mostReaders} readers at once`);
  expect(seen.wrong).toBe(0);
  expect(counted).toEqual({ one: 3 * rounds, other: 3 * rounds });
  expect(reads).toEqual(reads.map(() => rounds));
  expect(seen.mostReaders).toBeGreaterThan(1);
  expect(await server.number("EXISTS", name)).toBe(0);
});

it.each(["read", "write"] as const)(
  "41: a %s is renewed for as long as it is held, and one without renewal ends by itself and lets the others in",
  async (side) => {
    const name = server.name("expiry");
    // On a busy machine renewals come late, and the hold must outlast that.
    const leaseMs = 2_500;
    const lock = (await server.locks({ leaseMs })).readWriteLock(name);
    const other = (await server.locks()).readWriteLock(name);
    const held = await lock[side].acquire();
    const startedMs = await server.nowMs();
    await eventually(
      async () => {
        expect(await server.number("PTTL", name)).toBeGreaterThan(0);
        return (await server.nowMs()) - startedMs > 2 * leaseMs;
      },
      { what: "two leases", everyMs: 50 },
    );
    held.assertHeld();
    expect(await other.write.tryAcquire()).toBeNull();
    expect(await held.release()).toBe("released");
    const last = await lock[side].acquire({ renew: false });
    const { lost } = last;
    const grantedMs = performance.now();
    const next = await other.write.acquire({ waitMs: 10_000 });
    expect(lost.reason).toMatchObject({ reason: "lease-expired" });
    expect(performance.now() - grantedMs).toBeLessThan(leaseMs + 8_000);
    await next.release();
  },
);

it("42: each side can be seen to be held, also the read inside a write and what a downgrade leaves", async () => {
  const name = server.name("seen");
  const lock = (await server.locks()).readWriteLock(name);
  const nested = (await server.locks()).reentrantReadWriteLock(name);
  const modes = async () => (await lock.inspect()).held.map(({ mode }) => mode).sort();
  expect(await modes()).toEqual([]);
  const reads = [await lock.read.acquire(), await lock.read.acquire()];
  expect(await modes()).toEqual(["shared", "shared"]);
  for (const read of reads) await read.release();
  await nested.write.withLock(async () => {
    expect(await modes()).toEqual(["exclusive"]);
    await nested.read.withLock(async () => {
      expect(await modes()).toEqual(["exclusive", "shared"]);
    });
    expect(await modes()).toEqual(["exclusive"]);
  });
  expect(await modes()).toEqual([]);
  const read = await (await lock.write.acquire()).downgrade();
  expect(await modes()).toEqual(["shared"]);
  await read.release();
  expect(await modes()).toEqual([]);
});

it("43: each side has its lease as the time that is left, and re-entry adds nothing to it", async () => {
  const name = server.name("ttl");
  const lock = (await server.locks({ leaseMs: 30_000 })).reentrantReadWriteLock(name);
  await lock.write.withLock(async () => {
    await lock.write.withLock(async () => {
      expect(await server.number("PTTL", name)).toBeLessThanOrEqual(30_000);
    });
    expect(await server.number("PTTL", name)).toBeGreaterThan(25_000);
  });
  expect(await server.number("EXISTS", name)).toBe(0);
});

it("43: a read has its own time and the write keeps its own, each as its lease says", async () => {
  const name = server.name("times");
  const lock = (await server.locks({ leaseMs: 20_000 })).readWriteLock(name);
  const read = await lock.read.acquire();
  const { held } = await lock.inspect();
  expect(held).toHaveLength(1);
  expect(held[0]?.remainingMs).toBeGreaterThan(18_000);
  expect(held[0]?.remainingMs).toBeLessThanOrEqual(20_000);
  expect(await server.number("PTTL", `{${name}}:${held[0]?.backendId}:rwlock_timeout:1`)).toBeGreaterThan(
    18_000,
  );
  await read.release();
  expect(await server.number("EXISTS", name, `{${name}}:${held[0]?.backendId}:rwlock_timeout:1`)).toBe(0);
  const write = await lock.write.acquire({ leaseMs: 7_000, renew: false });
  const ttlMs = await server.number("PTTL", name);
  expect(ttlMs).toBeGreaterThan(6_000);
  expect(ttlMs).toBeLessThanOrEqual(7_000);
  await write.release();
  expect(await server.number("PTTL", name)).toBe(-2);
});

it("44: holds are counted for each side by itself, in this process: the server has one of each", async () => {
  const name = server.name("counts");
  const { read, write } = (await server.locks()).reentrantReadWriteLock(name);
  const counts = () => [write.holdCount(), read.holdCount()];
  expect(counts()).toEqual([0, 0]);
  await write.withLock(async (outer) => {
    await write.withLock(async (inner) => {
      expect(inner.token).toBe(outer.token);
      expect(counts()).toEqual([2, 0]);
      await read.withLock(() =>
        read.withLock(async () => {
          expect(counts()).toEqual([2, 2]);
          const fields = await server.texts("HVALS", name);
          expect(fields.sort()).toEqual(["1", "1", "write"]);
        }),
      );
      expect(counts()).toEqual([2, 0]);
    });
    expect(counts()).toEqual([1, 0]);
  });
  expect(counts()).toEqual([0, 0]);
  expect(await server.number("EXISTS", name)).toBe(0);
});

it.each(["read", "write"] as const)(
  "45: an operator frees the %s side by force: its holders hear of it, the waiter gets in, and late releases free no other hold",
  async (side) => {
    const name = server.name("forced");
    const lock = (await server.locks()).readWriteLock(name);
    const other = (await server.locks()).readWriteLock(name);
    expect(await forceOpen(lock)).toBe(false);
    // A revocable hold is granted once its subscription stands. Before that a message would find no subscriber.
    const held: LockHandle[] = [await lock[side].acquire({ revocable: true })];
    if (side === "read") held.push(await other.read.acquire({ revocable: true }));
    const signals = held.map(({ lost }) => lost);
    // The waiter needs a provider that holds nothing. A provider with a reader would learn from the grant that its hold is
    // lost, without the reason.
    const waiting = (await server.locks()).readWriteLock(name).write.acquire({ waitMs: 10_000 });
    await server.untilLong(`holdfast_waiters:{${name}}`, 1);
    const forcedMs = performance.now();
    expect(await forceOpen(lock)).toBe(true);
    const next = await waiting;
    expect(performance.now() - forcedMs).toBeLessThan(9_000);
    await eventually(() => signals.every(({ aborted }) => aborted), { what: "all to be told" });
    for (const { reason } of signals) expect(reason).toMatchObject({ reason: "stolen" });
    for (const each of held) expect(await each.release()).toBe("lost");
    await next.confirm();
    expect(await next.release()).toBe("released");
  },
);

it("46: a client that went silent while it reads holds a writer up for the rest of its lease only", async () => {
  const name = server.name("silent");
  const { locks, link } = await server.linked({ leaseMs: 2_500, connectTimeoutMs: 3_000 });
  const silent = await locks.readWriteLock(name).read.acquire();
  const live = await (await server.locks()).readWriteLock(name).read.acquire();
  await link.setMode("hole");
  const [id] = (await server.texts("HKEYS", name)).filter((field) => field !== "mode");
  const holdKey = `{${name}}:${id}:rwlock_timeout:1`;
  await eventually(async () => (await server.number("EXISTS", holdKey)) === 0, { what: "its lease to end" });
  expect(silent.state).toBe("lost");
  // The field of the silent reader stays for as long as another reader holds.
  expect(await server.number("HLEN", name)).toBe(3);
  const writing = (await server.locks()).readWriteLock(name).write.acquire({ waitMs: 10_000 });
  await server.untilLong(`holdfast_waiters:{${name}}`, 1);
  const releasedMs = performance.now();
  await live.release();
  await (await writing).release();
  expect(performance.now() - releasedMs).toBeLessThan(9_000);
});

it("46: a reader that died does not block a writer after the live ones leave", async () => {
  const name = server.name("zombie");
  const lock = (await server.locks()).readWriteLock(name);
  const live = await lock.read.acquire();
  await server.node.command("HSET", name, "11111111-1111-4111-8111-111111111111:7", 1);
  const writing = (await server.locks()).readWriteLock(name).write.acquire({ waitMs: 10_000 });
  await server.untilLong(`holdfast_waiters:{${name}}`, 1);
  const startedMs = performance.now();
  await live.release();
  await (await writing).release();
  expect(performance.now() - startedMs).toBeLessThan(9_000);
});

it("47: with thousands of dead readers in the hash a release stays within milliseconds at the server", async () => {
  const name = server.name("zombies");
  const { read } = (await server.locks()).readWriteLock(name);
  const stays = await read.acquire();
  const leaves = await read.acquire();
  const dead = share("dead readers", 2_000, 20_000);
  const plant =
    "for i = 1, tonumber(ARGV[1]) do redis.call('HSET', KEYS[1], '11111111-1111-4111-8111-111111111111:' .. i, 1) end";
  await server.node.command("EVAL", plant, 1, name, dead);
  await server.node.command("CONFIG", "SET", "slowlog-log-slower-than", 0);
  await server.node.command("SLOWLOG", "RESET");
  expect(await leaves.release()).toBe("released");
  const log = (await server.node.command("SLOWLOG", "GET", 10)) as unknown[][];
  await server.node.command("CONFIG", "SET", "slowlog-log-slower-than", 10_000);
  const scripts = log.filter(([, , , words]) => /^eval/i.test(String(words)));
  const tookMs = Math.max(...scripts.map(([, , micros]) => Number(micros) / 1_000));
  console.log(`a release beside ${dead} dead readers: ${tookMs} ms at the server`);
  expect(scripts).not.toEqual([]);
  // The release looks at the key of each dead reader, which takes about 2 us.
  expect(tookMs).toBeLessThan(dead / 5);
  const startedMs = performance.now();
  expect(await stays.release()).toBe("released");
  expect(performance.now() - startedMs).toBeLessThan(5_000);
  expect(await server.number("EXISTS", name)).toBe(0);
});

it("defect 33: a read over a mutex of the same name is refused, where Redisson would grant it beside the holder", async () => {
  const name = server.name("mixed");
  const locks = await server.locks();
  const held = await locks.mutex(name).acquire();
  await expect(locks.readWriteLock(name).read.acquire()).rejects.toBeInstanceOf(LayoutConflictError);
  await expect(locks.readWriteLock(name).write.acquire()).rejects.toBeInstanceOf(LayoutConflictError);
  await held.release();
  const read = await locks.readWriteLock(name).read.acquire();
  await expect(locks.mutex(name).acquire()).rejects.toBeInstanceOf(LayoutConflictError);
  await read.release();
});

it("defect 32: while a writer of ours stands first, readers of ours do not pass it", async () => {
  const name = server.name("preference");
  const lock = (await server.locks()).readWriteLock(name);
  const reader = await lock.read.acquire();
  const writing = (await server.locks()).readWriteLock(name).write.acquire();
  await server.untilLong(`holdfast_waiters:{${name}}`, 1);
  expect(await lock.read.tryAcquire()).toBeNull();
  await reader.release();
  await (await writing).release();
});
