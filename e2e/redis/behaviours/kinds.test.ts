import { LayoutConflictError } from "@holdfast/core";
import type { RedisLocks } from "@holdfast/redis-recipes";
import { describe, expect, it } from "vitest";
import { OneServer } from "../../support/redis/one-redis-server.js";
import { askToLetGo, forceOpen } from "../../support/redis/redis-force.js";

const server = new OneServer();

type Hold = { release(): Promise<unknown> };

interface Kind {
  readonly title: string;
  /** The layout that it writes under the name. Two kinds with the same layout are one lock, or one number of permits. */
  readonly layout: "owner" | "mode" | "number" | "own";
  /** Waits for at most `waitMs`; `null` when it was not granted. */
  take(locks: RedisLocks, name: string, waitMs: number): Promise<Hold | null>;
}

const nothing: Hold = { release: async () => {} };

const kinds: readonly Kind[] = [
  { title: "mutex", layout: "owner", take: (l, name, waitMs) => l.mutex(name).tryAcquire({ waitMs }) },
  {
    title: "re-entrant mutex",
    layout: "owner",
    take: (l, name, waitMs) => l.reentrantMutex(name).tryAcquire({ waitMs }),
  },
  {
    title: "fair mutex",
    layout: "owner",
    take: (l, name, waitMs) => l.fairMutex(name).tryAcquire({ waitMs }),
  },
  {
    title: "spin mutex",
    layout: "owner",
    take: (l, name, waitMs) => l.spinMutex(name).tryAcquire({ waitMs }),
  },
  {
    title: "read",
    layout: "mode",
    take: (l, name, waitMs) => l.readWriteLock(name).read.tryAcquire({ waitMs }),
  },
  {
    title: "write",
    layout: "mode",
    take: (l, name, waitMs) => l.readWriteLock(name).write.tryAcquire({ waitMs }),
  },
  {
    title: "semaphore",
    layout: "number",
    take: (l, name, waitMs) => l.plainSemaphore(name, 2).tryAcquire({ waitMs }),
  },
  {
    title: "permit semaphore",
    layout: "number",
    async take(l, name, waitMs) {
      await l.permitSemaphore(name).trySetLimit(2);
      return l.permitSemaphore(name).tryAcquire({ waitMs });
    },
  },
  {
    title: "latch",
    layout: "number",
    async take(l, name) {
      const latch = l.countDownLatch(name);
      if (!(await latch.trySetCount(2))) return null;
      return { release: () => latch.countDown(2) };
    },
  },
  {
    title: "leadership",
    layout: "own",
    take: (l, name, waitMs) => l.leaderElection(name).campaign({ waitMs: Math.max(5_000, waitMs) }),
  },
  {
    title: "barrier",
    layout: "own",
    async take(l, name) {
      await l.barrier(name).shut();
      return nothing;
    },
  },
];

const locking = kinds.filter(({ layout }) => layout === "owner" || layout === "mode");
const pairs = kinds.flatMap((one) => kinds.map((other) => [one.title, other.title, one, other] as const));
const ofPairs = (fits: (one: Kind, other: Kind) => boolean) =>
  pairs.filter(([, , one, other]) => one !== other && fits(one, other));

describe("two kinds on one name", () => {
  it.each(
    ofPairs((one, other) => one.layout !== other.layout && one.layout !== "own" && other.layout !== "own"),
  )(
    "while a %s is held, a %s is refused by a typed error at once, waiting or not, and the first stays",
    async (_one, _other, one, other) => {
      const name = server.name("pair");
      const [first, second] = [await server.locks(), await server.locks()];
      const held = await one.take(first, name, 0);
      expect(held).not.toBeNull();
      const startedMs = performance.now();
      for (const waitMs of [0, 20_000]) {
        await expect(other.take(second, name, waitMs)).rejects.toBeInstanceOf(LayoutConflictError);
      }
      expect(performance.now() - startedMs).toBeLessThan(15_000);
      expect(await one.take(first, name, 0).then((again) => again !== null && one.layout === "owner")).toBe(
        false,
      );
      await held?.release();
    },
  );

  it.each(ofPairs((one, other) => one.layout === "owner" && other.layout === "owner"))(
    "a %s and a %s are one lock: they exclude each other, and who waits comes in",
    async (_one, _other, one, other) => {
      const name = server.name("same");
      const [first, second] = [await server.locks(), await server.locks()];
      const held = await one.take(first, name, 0);
      expect(await other.take(second, name, 0)).toBeNull();
      const waiting = other.take(second, name, 10_000);
      expect(await one.take(first, name, 0)).toBeNull();
      await held?.release();
      const next = await waiting;
      expect(next).not.toBeNull();
      expect(await one.take(first, name, 0)).toBeNull();
      await next?.release();
    },
  );

  it.each(
    ofPairs((one, other) => one.layout === "own" && locking.includes(other)).map(
      ([one, other, a, b]) => [one, other, a, b] as const,
    ),
  )("a %s is under keys of its own and never meets a %s", async (_one, _other, one, other) => {
    const name = server.name("apart");
    const [first, second] = [await server.locks(), await server.locks()];
    const held = [await one.take(first, name, 0), await other.take(second, name, 0)];
    for (const each of held) expect(each).not.toBeNull();
    for (const each of held) await each?.release();
  });

  it("a semaphore and a permit semaphore draw from one number, as Redisson's do: never more are out than it says", async () => {
    const name = server.name("one-number");
    const locks = await server.locks();
    const permits = locks.permitSemaphore(name);
    await permits.setLimit(2);
    const held = [await permits.acquire(), await locks.plainSemaphore(name, 2).acquire()];
    expect(await permits.tryAcquire()).toBeNull();
    expect(await locks.plainSemaphore(name, 2).tryAcquire()).toBeNull();
    for (const each of held) await each.release();
    expect(await server.number("GET", name)).toBe(2);
  });

  it("a waiter whose lock becomes another kind under it is refused at once", async () => {
    const name = server.name("turned");
    const held = await (await server.locks()).mutex(name).acquire();
    const waiting = [
      (await server.locks()).mutex(name).acquire(),
      (await server.locks()).spinMutex(name).acquire(),
    ].map((each) => expect(each).rejects.toBeInstanceOf(LayoutConflictError));
    await server.untilLong(`holdfast_waiters:{${name}}`, 1);
    // Both commands run in one step. Otherwise the spinning waiter would take the lock while it is free in between.
    const turned =
      "redis.call('DEL', KEYS[1]) return redis.call('HSET', KEYS[1], 'mode', 'read', ARGV[1], 1)";
    await server.node.command("EVAL", turned, 1, name, "11111111-1111-4111-8111-111111111111:1");
    await Promise.all(waiting);
    expect(await held.release()).toBe("lost");
    // The hold that is in the hash now belongs to another client, and the release leaves it alone.
    expect(await server.number("HLEN", name)).toBe(2);
  });
});

describe("foreign data", () => {
  const foreign: readonly [string, (name: string) => string[]][] = [
    ["text", (name) => ["SET", name, "hello"]],
    ["a list", (name) => ["RPUSH", name, "hello"]],
    ["a set", (name) => ["SADD", name, "hello"]],
    ["a hash of two fields", (name) => ["HSET", name, "a", "1", "b", "2"]],
    ["a hash whose field is no count", (name) => ["HSET", name, "a", "b"]],
    ["a hash with an unknown mode", (name) => ["HSET", name, "mode", "x"]],
    ["a token key with text", (name) => ["SET", `redisson_lock_token:{${name}}`, "x"]],
    ["a token key with a list", (name) => ["RPUSH", `redisson_lock_token:{${name}}`, "1"]],
  ];
  it.each(foreign)(
    "%s is left as it is, and each kind refuses the name by a typed error",
    async (what, plant) => {
      const locks = await server.locks();
      for (const kind of kinds) {
        if (kind.layout === "own" || (kind.title === "latch" && what.startsWith("a token"))) continue;
        const name = server.name("foreign");
        const [command = "", key = "", ...rest] = plant(name);
        await server.node.command(command, key, ...rest);
        const before = await server.node.command("DUMP", key);
        for (const waitMs of [0, 20_000]) {
          await expect(kind.take(locks, name, waitMs), kind.title).rejects.toBeInstanceOf(
            LayoutConflictError,
          );
        }
        expect(await server.node.command("DUMP", key)).toEqual(before);
      }
    },
  );

  const operated: readonly [
    string,
    string,
    (locks: RedisLocks, name: string) => { readonly name: string },
  ][] = [
    ["a mutex", "", (l, name) => l.mutex(name)],
    ["a fair mutex", "", (l, name) => l.fairMutex(name)],
    ["a spin mutex", "", (l, name) => l.spinMutex(name)],
    ["a read-write lock", "", (l, name) => l.readWriteLock(name)],
    ["an election", "holdfast_election", (l, name) => l.leaderElection(name)],
  ];
  it.each(operated)(
    "where %s would be refuses a request to let go and a forced release by a typed error",
    async (_what, prefix, of) => {
      const name = server.name("operated");
      const key = prefix === "" ? name : `${prefix}:{${name}}`;
      await server.node.command("SET", key, "foreign");
      const view = of(await server.locks(), name);
      for (const act of [askToLetGo, forceOpen])
        await expect(act(view), act.name).rejects.toBeInstanceOf(LayoutConflictError);
      expect(await server.node.command("GET", key)).toBe("foreign");
    },
  );

  const beside: readonly [string, string, (locks: RedisLocks, name: string) => Promise<unknown>][] = [
    ["our queue", "holdfast_waiters", (l, name) => l.mutex(name).acquire()],
    ["our queue", "holdfast_waiters", (l, name) => l.readWriteLock(name).write.acquire()],
    ["our queue", "holdfast_waiters", (l, name) => l.readWriteLock(name).read.acquire()],
    ["Redisson's queue", "redisson_lock_queue", (l, name) => l.fairMutex(name).acquire()],
    ["Redisson's deadlines", "redisson_lock_timeout", (l, name) => l.fairMutex(name).acquire()],
    ["our waiters' liveness", "holdfast_alive", (l, name) => l.fairMutex(name).acquire()],
    ["our queue", "holdfast_waiters", (l, name) => l.mutex(name).inspect()],
  ];
  it.each(beside)("in %s (%s) is a typed error as well", async (_what, prefix, ask) => {
    const name = server.name("beside");
    await server.node.command("SET", `${prefix}:{${name}}`, "foreign");
    await expect(ask(await server.locks(), name)).rejects.toBeInstanceOf(LayoutConflictError);
    expect(await server.node.command("GET", `${prefix}:{${name}}`)).toBe("foreign");
  });

  it("in the queue of one lock ends its waiter, and none of the same client's waiters for other locks", async () => {
    const names = [server.name("bad"), server.name("good"), server.name("good")];
    const [holder, waiter] = [await server.locks(), await server.locks()];
    const held = await Promise.all(names.map((name) => holder.mutex(name).acquire()));
    const [bad, ...good] = names.map((name) => waiter.mutex(name).acquire({ waitMs: 20_000 }));
    for (const name of names) await server.untilLong(`holdfast_waiters:{${name}}`, 1);
    await server.node.command("SET", `holdfast_waiters:{${names[0]}}`, "foreign");
    await expect(bad).rejects.toBeInstanceOf(LayoutConflictError);
    for (const each of held.slice(1)) await each.release();
    for (const each of good) await (await each).release();
    await server.node.command("DEL", `holdfast_waiters:{${names[0]}}`);
    await held[0]?.release();
  });
});
