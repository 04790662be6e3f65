import type { LockHandle } from "@holdfast/core";
import type { RedisLocks } from "@holdfast/redis-recipes";
import { eventually } from "@holdfast/test-servers";
import { expect, it, vi } from "vitest";
import { die, FaultyServer } from "./faulty-server.js";

const server = new FaultyServer();
const queueOf = (name: string): string => `redisson_lock_queue:{${name}}`;
const deadlinesOf = (name: string): string => `redisson_lock_timeout:{${name}}`;
/**
 * Redisson's own queue gives five minutes to each dead waiter, and this is a tenth of that. Our queue gives a dead waiter up
 * after one alive window of 700 ms and a heartbeat.
 */
const farBelowJavasMs = 30_000;
const java = "8b7b9e7c-5d6e-4f6e-9a47-2b0c3c1a7d11:54";
/** With this window, no waiter of ours loses its place because this process was late with its heartbeats. */
const lasting = { aliveMs: 10_000 };

/** Asks for the lock, and waits until it is the `place`-th in the queue. */
async function queued(
  locks: RedisLocks,
  name: string,
  place: number,
): Promise<{ grant: Promise<LockHandle> }> {
  const grant = locks.fairMutex(name).acquire();
  grant.catch(() => {});
  await server.untilLong(queueOf(name), place);
  return { grant };
}

it("defect 14: dead waiters in front cost a live one their alive window, not minutes", async () => {
  const holder = await server.client();
  const dead = [await server.client(), await server.client(), await server.client()];
  const live = await server.client();
  const name = server.name("dead");
  const held = await holder.locks.fairMutex(name).acquire();
  for (const [i, client] of dead.entries()) await queued(client.locks, name, i + 1);
  const { grant } = await queued(live.locks, name, dead.length + 1);
  await Promise.all(dead.map(die));
  const startedMs = performance.now();
  await held.release();
  const handle = await grant;
  expect(performance.now() - startedMs).toBeLessThan(farBelowJavasMs);
  expect(await server.number("LLEN", queueOf(name))).toBe(0);
  await handle.release();
});

it("defect 14: a dead waiter that was just sent its turn does not keep it", async () => {
  const [holder, dead, live] = [await server.client(), await server.client(), await server.client()];
  const name = server.name("told");
  const held = await holder.locks.fairMutex(name).acquire();
  await queued(dead.locks, name, 1);
  const { grant } = await queued(live.locks, name, 2);
  // The last thing that the dying client receives is the message of this release, by which it learns of its turn.
  const dying = dead.link.holdCommand();
  await held.release();
  await die(dead);
  dying.release();
  const startedMs = performance.now();
  await (await grant).release();
  expect(performance.now() - startedMs).toBeLessThan(farBelowJavasMs);
});

it("defect 15: behind a dead head of Java's a live waiter asks once a heartbeat, and no more", async () => {
  const { locks, link } = await server.client();
  const name = server.name("poll");
  const nowMs = Math.floor(Number((await server.texts("TIME"))[0]) * 1_000);
  await server.node.command("RPUSH", queueOf(name), java);
  await server.node.command("ZADD", deadlinesOf(name), nowMs + 300_000, java);
  const abort = new AbortController();
  const waiting = locks.fairMutex(name).acquire({ signal: abort.signal });
  waiting.catch(() => {});
  await server.untilLong(queueOf(name), 2);
  const startedMs = performance.now();
  link.reset();
  await eventually(() => (link.counts().byName.EVALSHA ?? 0) >= 6, { what: "six heartbeats" });
  // Heartbeats come every 200 ms, and the link may see the first of them late. Redisson would ask without a pause.
  expect(performance.now() - startedMs).toBeGreaterThan(500);
  abort.abort();
  await expect(waiting).rejects.toBe(abort.signal.reason);
  // The call ends at once, and its place in the queue is taken back behind it.
  await server.untilLong(queueOf(name), 1);
});

it("defect 16: live waiters keep their places for many times the wait that Redisson gives them", async () => {
  const options = { ...lasting, fairLockWaitTimeoutMs: 300 };
  const clients = [await server.locks(options)];
  for (let i = 0; i < 3; i++) clients.push(await server.locks(options));
  const [holder, ...waiters] = clients as [RedisLocks, ...RedisLocks[]];
  const name = server.name("place");
  // The first deadline is what is left of the lease, and one wait. Each further deadline is one wait later.
  const held = await holder.fairMutex(name).acquire({ leaseMs: 3_000 });
  const order: number[] = [];
  const all: Promise<void>[] = [];
  for (const [i, locks] of waiters.entries()) {
    const { grant } = await queued(locks, name, i + 1);
    all.push(
      grant.then(async (handle) => {
        order.push(i);
        await handle.release();
      }),
    );
  }
  const before = await server.texts("LRANGE", queueOf(name), "0", "-1");
  const startedMs = performance.now();
  await eventually(() => performance.now() - startedMs > 5_000, { what: "all deadlines to pass" });
  expect(await server.texts("LRANGE", queueOf(name), "0", "-1")).toEqual(before);
  await held.release();
  await Promise.all(all);
  expect(order).toEqual([0, 1, 2]);
});

it("defect 16: a client whose clock is hours ahead evicts no waiter and writes the server's deadlines", async () => {
  const [holder, first, ahead] = [
    await server.locks(),
    await server.locks(lasting),
    await server.locks(lasting),
  ];
  const name = server.name("ahead");
  const held = await holder.fairMutex(name).acquire();
  const one = await queued(first, name, 1);
  const realNow = Date.now;
  const spy = vi.spyOn(Date, "now").mockImplementation(() => realNow() + 6 * 3_600_000);
  const order: string[] = [];
  try {
    const two = await queued(ahead, name, 2);
    const [secondsText = "0"] = await server.texts("TIME");
    const scores = await server.texts("ZRANGE", deadlinesOf(name), "0", "-1", "WITHSCORES");
    for (const score of scores.filter((_, i) => i % 2 === 1)) {
      expect(Number(score) - Number(secondsText) * 1_000).toBeLessThan(700_000);
    }
    const granted = [
      one.grant.then(async (handle) => {
        order.push("first");
        await handle.release();
      }),
      two.grant.then(async (handle) => {
        order.push("ahead");
        await handle.release();
      }),
    ];
    await held.release();
    await Promise.all(granted);
  } finally {
    spy.mockRestore();
  }
  expect(order).toEqual(["first", "ahead"]);
});

it("defect 17: the release of a fair lock that is over says so, whether the server or our clock notices first", async () => {
  const [locks, other] = [await server.locks(), await server.locks()];
  const name = server.name("over");
  // First case: the server's answer shows that the lock is over.
  const gone = await locks.fairMutex(name).acquire({ leaseMs: 20_000 });
  await server.node.command("DEL", name);
  const next = await other.fairMutex(name).acquire();
  expect(await gone.release()).toBe("lost");
  await next.confirm();
  await next.release();
  // Second case: our clock shows it.
  const over = await locks.fairMutex(name).acquire({ leaseMs: 150, renew: false });
  await eventually(() => over.lost.aborted, { what: "the end of the lease" });
  expect(await over.release()).toBe("lost");
});

it("defect 18: a waiter that gives up without contact leaves an entry for one alive window only", async () => {
  const [holder, silent, live] = [await server.client(), await server.client(), await server.client()];
  const name = server.name("left");
  const held = await holder.locks.fairMutex(name).acquire();
  const abort = new AbortController();
  const waiting = silent.locks.fairMutex(name).acquire({ signal: abort.signal });
  const gaveUp = expect(waiting).rejects.toBe("enough");
  await server.untilLong(queueOf(name), 1);
  await silent.link.setMode("hole");
  abort.abort("enough");
  await gaveUp;
  expect(await server.number("LLEN", queueOf(name))).toBe(1);
  const granted = live.locks.fairMutex(name).acquire();
  const startedMs = performance.now();
  await held.release();
  await (await granted).release();
  expect(performance.now() - startedMs).toBeLessThan(farBelowJavasMs);
  expect(await server.number("EXISTS", queueOf(name), deadlinesOf(name))).toBe(0);
});

it("defect 18: an acquire whose answers are lost leaves no entry once the caller has given up", async () => {
  const [holder, client] = [await server.client(), await server.client()];
  const name = server.name("lost");
  const held = await holder.locks.fairMutex(name).acquire();
  client.link.dropReply({ name: "EVALSHA", times: 3 });
  await client.locks
    .fairMutex(name)
    .acquire({ waitMs: 600 })
    .catch(() => {});
  await eventually(async () => (await server.number("EXISTS", queueOf(name), deadlinesOf(name))) === 0, {
    what: "the entry to go",
    withinMs: 20_000,
  });
  await held.release();
});
