import {
  AcquireTimeoutError,
  DeadlockError,
  type LockHandle,
  type MultiHandle,
  type Mutex,
} from "@holdfast/core";
import { multiLock } from "@holdfast/multi-lock";
import type { RedisLocks } from "@holdfast/redis-recipes";
import { eventually } from "@holdfast/test-servers";
import { expect, it } from "vitest";
import { OneServer } from "../../support/redis/one-redis-server.js";
import { share } from "../../support/share.js";

const server = new OneServer();

it("61: a count set where one is stays; at zero the key is gone and the message for Java is published", async () => {
  const name = server.name("latch");
  const locks = await server.locks();
  const latch = locks.countDownLatch(name);
  expect(await latch.trySetCount(2)).toBe(true);
  expect(await latch.trySetCount(3)).toBe(false);
  expect(await server.number("GET", name)).toBe(2);
  expect(await latch.countDown()).toBe(1);
  expect(await latch.countDown()).toBe(0);
  expect(await server.number("EXISTS", name)).toBe(0);
  expect(await latch.countDown()).toBe(0);
  expect(await server.number("EXISTS", name)).toBe(0);
});

it("61: many wait, and a count that Java takes down with its message lets all pass at once", async () => {
  const name = server.name("many");
  const locks = await Promise.all([server.locks(), server.locks()]);
  await locks[0].countDownLatch(name).trySetCount(1);
  const waiting = locks.flatMap((each) =>
    Array.from({ length: 10 }, () => each.countDownLatch(name).wait({ waitMs: 10_000 })),
  );
  await server.node.command("DEL", name);
  await server.node.command("PUBLISH", `redisson_countdownlatch__channel__{${name}}`, 0);
  await Promise.all(waiting);
});

it("61: a lost message delays no waiter for longer than the capped sleep", async () => {
  const name = server.name("mute");
  const latch = (await server.locks()).countDownLatch(name);
  await latch.trySetCount(1);
  const waiting = latch.wait({ waitMs: 10_000 });
  await expect
    .poll(() => server.texts("PUBSUB", "NUMSUB", `redisson_countdownlatch__channel__{${name}}`))
    .toContain("1");
  const startedMs = performance.now();
  await server.node.command("DEL", name);
  await waiting;
  expect(performance.now() - startedMs).toBeLessThan(9_000);
});

it("61: a latch deleted by a Java client lets no waiter pass wrongly: the waiter looks and finds a new count", async () => {
  const name = server.name("anew");
  const latch = (await server.locks()).countDownLatch(name);
  await latch.trySetCount(1);
  let passed = false;
  const waiting = latch.wait({ waitMs: 10_000 }).then(() => {
    passed = true;
  });
  const channel = `redisson_countdownlatch__channel__{${name}}`;
  await expect.poll(() => server.texts("PUBSUB", "NUMSUB", channel)).toContain("1");
  await server.node.command("SET", name, 5);
  await server.node.command("PUBLISH", channel, 1);
  await latch.count();
  expect(passed).toBe(false);
  expect(await latch.countDown(5)).toBe(0);
  await waiting;
});

it("61: a wait ends with a time-out when its time is over, not earlier, and one without time at once", async () => {
  const latch = (await server.locks()).countDownLatch(server.name("late"));
  await latch.trySetCount(1);
  const startedMs = performance.now();
  // Within this time the server has to answer that the count is not zero yet.
  await expect(latch.wait({ waitMs: 1_000 })).rejects.toBeInstanceOf(AcquireTimeoutError);
  const waitedMs = performance.now() - startedMs;
  expect(waitedMs).toBeGreaterThanOrEqual(999);
  expect(waitedMs).toBeLessThan(9_000);
  await expect(latch.wait({ waitMs: 0 })).rejects.toBeInstanceOf(AcquireTimeoutError);
  await latch.countDown();
  await latch.wait({ waitMs: 0 });
});

it("61: the last of many countdowns by many clients opens the latch for all of them, once", async () => {
  const name = server.name("crowd");
  const clients = await Promise.all(Array.from({ length: 4 }, () => server.locks()));
  const count = share("countdowns by 4 clients", 40, 400);
  await clients[0]?.countDownLatch(name).trySetCount(count);
  const waiting = clients.map((each) => each.countDownLatch(name).wait({ waitMs: 20_000 }));
  const left = await Promise.all(
    Array.from({ length: count }, (_, i) => (clients[i % 4] as RedisLocks).countDownLatch(name).countDown()),
  );
  await Promise.all(waiting);
  expect(left.sort((a, b) => a - b)).toEqual(Array.from({ length: count }, (_, i) => i));
  expect(await server.number("EXISTS", name)).toBe(0);
});

/** Three locks of different kinds: a fair mutex, a mutex and a write lock. */
function partsOf(locks: RedisLocks, name: string): [Mutex, Mutex, Mutex] {
  const write = locks.readWriteLock(`${name}-c`).write as unknown as Mutex;
  return [locks.fairMutex(`${name}-b`), locks.mutex(`${name}-a`), write];
}

it("62: a multi lock holds all of its members, and another one that tries fails at once and holds none", async () => {
  const name = server.name("multi");
  const [one, other] = [await server.locks(), await server.locks()];
  const whole = await multiLock(partsOf(one, name)).acquire();
  expect(whole.parts.map((part) => part.name)).toEqual([`${name}-a`, `${name}-b`, `${name}-c`]);
  const keys = [`${name}-a`, `${name}-b`, `${name}-c`];
  expect(await server.number("EXISTS", ...keys)).toBe(3);
  for (const part of partsOf(other, name)) expect(await part.tryAcquire()).toBeNull();
  const startedMs = performance.now();
  expect(await multiLock(partsOf(other, name)).tryAcquire()).toBeNull();
  expect(performance.now() - startedMs).toBeLessThan(9_000);
  expect(await whole.release()).toBe("released");
  expect(await server.number("EXISTS", ...keys)).toBe(0);
});

it.each([0, 1, 2])(
  "62: with member %i in foreign hands a try for all takes none of the others with it, and a wait gets all",
  async (taken) => {
    const name = server.name("member");
    const [one, other] = [await server.locks(), await server.locks()];
    const held = await (partsOf(one, name)[taken] as Mutex).acquire();
    const whole = multiLock(partsOf(other, name));
    expect(await whole.tryAcquire()).toBeNull();
    expect(await server.number("EXISTS", `${name}-a`, `${name}-b`, `${name}-c`)).toBe(1);
    await expect(whole.acquire({ waitMs: 500 })).rejects.toBeInstanceOf(AcquireTimeoutError);
    const waiting = whole.acquire({ waitMs: 10_000 });
    await held.release();
    const handle = await waiting;
    expect(handle.parts.map(({ state }) => state)).toEqual(["held", "held", "held"]);
    await handle.release();
  },
);

it("62: of ten that try at once without waiting exactly one holds all, and of ten that wait each in its turn", async () => {
  const name = server.name("ten");
  const clients = await Promise.all(Array.from({ length: 5 }, () => server.locks()));
  const ten = [...clients, ...clients].map((each) => multiLock(partsOf(each, name)));
  const tried = await Promise.all(ten.map((each) => each.tryAcquire()));
  const winners = tried.filter((each) => each !== null) as MultiHandle[];
  expect(winners).toHaveLength(1);
  let [inside, most, served] = [0, 0, 0];
  const turns = ten.map((each) =>
    each.withLock({ waitMs: 20_000 }, async (whole) => {
      most = Math.max(most, ++inside);
      await whole.confirm();
      inside--;
      served++;
    }),
  );
  await winners[0]?.release();
  await Promise.all(turns);
  expect({ most, served }).toEqual({ most: 1, served: 10 });
});

it("62: the loss of one member is the loss of the whole, and its release gives the others back", async () => {
  const name = server.name("part-lost");
  const whole = await multiLock(partsOf(await server.locks({ leaseMs: 900 }), name)).acquire();
  const { lost } = whole;
  await server.node.command("DEL", `${name}-b`);
  await eventually(() => lost.aborted, { what: "the loss of the whole", withinMs: 20_000 });
  expect(() => whole.assertHeld()).toThrow();
  expect(await whole.release()).toBe("lost");
  await eventually(async () => (await server.number("EXISTS", `${name}-a`, `${name}-c`)) === 0, {
    what: "the others to be free",
  });
});

it("63: tokens rise over every way to take a lock, every exclusive kind on the name, and every client", async () => {
  const name = server.name("fenced");
  const [one, other] = [await server.locks(), await server.locks()];
  const tokens: bigint[] = [];
  const take = async (handle: LockHandle | null): Promise<void> => {
    if (handle === null) throw new Error("a free lock was not granted");
    tokens.push(handle.token as bigint);
    await handle.release();
  };
  for (const locks of [one, other, one]) {
    await take(await locks.mutex(name).acquire());
    await take(await locks.mutex(name).tryAcquire());
    await locks.mutex(name).withLock((handle) => tokens.push(handle.token as bigint));
    await take(await locks.reentrantMutex(name).acquire());
    await take(await locks.fairMutex(name).acquire());
    await take(await locks.spinMutex(name).acquire());
    await take(await locks.readWriteLock(name).write.acquire());
  }
  // This grant is handed over by a release, while all grants above took a free lock.
  const held = await one.mutex(name).acquire();
  const waiting = other.mutex(name).acquire();
  await server.untilLong(`holdfast_waiters:{${name}}`, 1);
  await take(held);
  await take(await waiting);
  for (const [i, token] of tokens.slice(1).entries()) expect(token).toBeGreaterThan(tokens[i] as bigint);
});

it("63: tokens go on above Java's count where it is ahead, above what was seen where the key is lost, and Java's go on above ours", async () => {
  const name = server.name("fenced-java");
  const key = `redisson_lock_token:{${name}}`;
  const locks = await server.locks();
  const tokenOf = async (): Promise<bigint> => {
    const handle = await locks.mutex(name).acquire();
    await handle.release();
    return handle.token as bigint;
  };
  await server.node.command("SET", key, 3);
  const first = await tokenOf();
  expect(first).toBeGreaterThan(3n);
  const ahead = BigInt(await server.nowMs()) * 1_000n + 60_000_000n;
  await server.node.command("SET", key, String(ahead));
  expect(await tokenOf()).toBe(ahead + 1n);
  expect(await server.number("INCR", key)).toBe(Number(ahead + 2n));
  expect(await tokenOf()).toBe(ahead + 3n);
  await server.node.command("DEL", key);
  expect(await tokenOf()).toBeGreaterThan(ahead + 3n);
});

it("64: a holder that asks again in its own scope is refused at once, also through another lock object, and still holds", async () => {
  const name = server.name("again");
  const locks = await server.locks({ detectDeadlocks: true });
  const other = await server.locks();
  await locks.mutex(name).withLock(async (handle) => {
    const startedMs = performance.now();
    await expect(locks.mutex(name).acquire()).rejects.toBeInstanceOf(DeadlockError);
    await expect(locks.mutex(name).withLock(() => {})).rejects.toBeInstanceOf(DeadlockError);
    expect(await locks.mutex(name).tryAcquire()).toBeNull();
    expect(performance.now() - startedMs).toBeLessThan(9_000);
    handle.assertHeld();
    expect(await server.texts("HVALS", name)).toEqual(["1"]);
    expect(await other.mutex(name).tryAcquire()).toBeNull();
  });
  await (await other.mutex(name).acquire({ waitMs: 5_000 })).release();
});

it("64: a contender gets what its holder releases once, though the holder's client asks again meanwhile", async () => {
  const name = server.name("contender");
  const [one, other] = [await server.locks(), await server.locks()];
  const held = await one.mutex(name).acquire();
  // Outside of a scope, a second acquire of the same client is one more contender, and waits.
  await expect(one.mutex(name).acquire({ waitMs: 500 })).rejects.toBeInstanceOf(AcquireTimeoutError);
  const waiting = other.mutex(name).acquire({ waitMs: 5_000 });
  await server.untilLong(`holdfast_waiters:{${name}}`, 1);
  await held.release();
  const next = await waiting;
  expect(await one.mutex(name).tryAcquire()).toBeNull();
  await next.release();
});
