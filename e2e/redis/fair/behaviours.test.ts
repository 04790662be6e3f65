import { expect, it } from "vitest";
import { OneServer } from "../latch/one-server.js";

const server = new OneServer();
const queueOf = (name: string): string => `redisson_lock_queue:{${name}}`;
const deadlinesOf = (name: string): string => `redisson_lock_timeout:{${name}}`;

it("27: grants come in the order of arrival across clients", async () => {
  const name = server.name("order");
  const clients = await Promise.all(Array.from({ length: 4 }, () => server.locks()));
  const held = await (clients[0] as (typeof clients)[0]).fairMutex(name).acquire();
  const order: number[] = [];
  const waiting = [];
  for (const [i, client] of clients.entries()) {
    waiting.push(
      client
        .fairMutex(name)
        .acquire()
        .then(async (handle) => {
          order.push(i);
          await handle.release();
        }),
    );
    await server.untilLong(queueOf(name), i + 1);
  }
  await held.release();
  await Promise.all(waiting);
  expect(order).toEqual([0, 1, 2, 3]);
  expect(await server.number("EXISTS", queueOf(name), deadlinesOf(name), name)).toBe(0);
});

it("28: a try without waiting succeeds on a free lock and fails while somebody queues, leaving nothing", async () => {
  const name = server.name("try");
  const [one, other] = [await server.locks(), await server.locks()];
  const held = await one.fairMutex(name).tryAcquire();
  expect(held).not.toBeNull();
  const waiting = other.fairMutex(name).acquire();
  await server.untilLong(queueOf(name), 1);
  expect(await one.fairMutex(name).tryAcquire()).toBeNull();
  expect(await server.number("LLEN", queueOf(name))).toBe(1);
  await held?.release();
  await (await waiting).release();
});

it("29: a dead first waiter of ours costs the others no longer than its alive window, not its deadline", async () => {
  const name = server.name("dead");
  const holder = await server.locks();
  const held = await holder.fairMutex(name).acquire();
  // What a client of ours leaves behind that dies as the first in line.
  const nowMs = Math.floor(Number((await server.texts("TIME"))[0]) * 1_000);
  const dead = "00000000-0000-8000-8000-000000000000:1";
  await server.node.command("RPUSH", queueOf(name), dead);
  await server.node.command("ZADD", deadlinesOf(name), nowMs + 300_000, dead);
  await server.node.command("ZADD", `holdfast_alive:{${name}}`, nowMs + 2_000, dead);
  const waiting = (await server.locks()).fairMutex(name).acquire();
  await server.untilLong(queueOf(name), 2);
  const startedMs = performance.now();
  await held.release();
  await (await waiting).release();
  expect(performance.now() - startedMs).toBeLessThan(4_000);
});

it("30: deadlines behind a waiter that gives up shrink by the whole wait", async () => {
  const name = server.name("shrink");
  const waitMs = 60_000;
  const locks = await server.locks({ fairLockWaitTimeoutMs: waitMs });
  const held = await locks.fairMutex(name).acquire();
  const abort = new AbortController();
  const first = locks.fairMutex(name).acquire({ signal: abort.signal });
  const gaveUp = expect(first).rejects.toBe("enough");
  await server.untilLong(queueOf(name), 1);
  const second = (await server.locks({ fairLockWaitTimeoutMs: waitMs })).fairMutex(name).acquire();
  await server.untilLong(queueOf(name), 2);
  const [, owner = ""] = await server.texts("LRANGE", queueOf(name), "0", "-1");
  const before = await server.number("ZSCORE", deadlinesOf(name), owner);
  abort.abort("enough");
  await gaveUp;
  const after = await server.number("ZSCORE", deadlinesOf(name), owner);
  // Heartbeats raise deadlines a little meanwhile.
  expect(Math.abs(before - after - waitMs)).toBeLessThan(5_000);
  await held.release();
  await (await second).release();
});

it("33: a holder's lease that lapses hands over in order", async () => {
  const name = server.name("lapse");
  const [one, two, three] = [await server.locks(), await server.locks(), await server.locks()];
  await one.fairMutex(name).acquire({ leaseMs: 500, renew: false });
  const order: number[] = [];
  const first = two
    .fairMutex(name)
    .acquire()
    .then(async (handle) => {
      order.push(1);
      await handle.release();
    });
  await server.untilLong(queueOf(name), 1);
  const second = three
    .fairMutex(name)
    .acquire()
    .then(async (handle) => {
      order.push(2);
      await handle.release();
    });
  await Promise.all([first, second]);
  expect(order).toEqual([1, 2]);
});

it("35: a prefix is on the queue and on the deadlines", async () => {
  const name = server.name("prefixed");
  const locks = await server.locks({ keyPrefix: "fleet:" });
  const held = await locks.fairMutex(name).acquire();
  const waiting = locks.fairMutex(name).acquire();
  await server.untilLong(queueOf(`fleet:${name}`), 1);
  expect(await server.number("EXISTS", `fleet:${name}`, deadlinesOf(`fleet:${name}`))).toBe(2);
  await held.release();
  await (await waiting).release();
});
