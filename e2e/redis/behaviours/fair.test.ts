import type { RedisLocks } from "@holdfast/redis-recipes";
import { eventually } from "@holdfast/test-servers";
import { expect, it } from "vitest";
import { OneServer } from "../../support/redis/one-redis-server.js";

const server = new OneServer();
const queueOf = (name: string): string => `redisson_lock_queue:{${name}}`;
const deadlinesOf = (name: string): string => `redisson_lock_timeout:{${name}}`;
/** Long, so that a deadline which is wrong by one whole wait cannot pass for a right one. */
const fleetWaitMs = 60_000;
/** With this window, no waiter of ours loses its place because this process was late with its heartbeats. */
const lasting = { aliveMs: 10_000 };
const patient = { ...lasting, fairLockWaitTimeoutMs: fleetWaitMs };

/** Writes what a Java client that dies in the queue leaves behind: its UUID has version 4, and it has no alive time. */
async function plantJava(name: string, thread: number, deadlineMs: number): Promise<void> {
  const owner = `11111111-1111-4111-8111-111111111111:${thread}`;
  await server.node.command("RPUSH", queueOf(name), owner);
  await server.node.command("ZADD", deadlinesOf(name), deadlineMs, owner);
}

/** The deadlines in the order of the queue. */
async function deadlines(name: string): Promise<number[]> {
  const owners = await server.texts("LRANGE", queueOf(name), "0", "-1");
  return Promise.all(owners.map((owner) => server.number("ZSCORE", deadlinesOf(name), owner)));
}

async function nothingLeft(name: string): Promise<void> {
  const keys = [queueOf(name), deadlinesOf(name), `holdfast_alive:{${name}}`, name];
  await eventually(async () => (await server.number("EXISTS", ...keys)) === 0, {
    what: "nothing left of the lock",
  });
}

it("27: grants come in the order of arrival across clients", async () => {
  const name = server.name("order");
  const clients = await Promise.all(Array.from({ length: 4 }, () => server.locks(lasting)));
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

it("28: a try without waiting succeeds on a free lock and fails while another client queues, leaving nothing", async () => {
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
  const [holder, waiter] = [await server.locks(), await server.locks(lasting)];
  const held = await holder.fairMutex(name).acquire();
  // This is what a client of ours leaves behind that dies as the first waiter.
  const nowMs = await server.nowMs();
  const dead = "00000000-0000-8000-8000-000000000000:1";
  await server.node.command("RPUSH", queueOf(name), dead);
  await server.node.command("ZADD", deadlinesOf(name), nowMs + 300_000, dead);
  await server.node.command("ZADD", `holdfast_alive:{${name}}`, nowMs + 2_000, dead);
  const waiting = waiter.fairMutex(name).acquire();
  await server.untilLong(queueOf(name), 2);
  const startedMs = performance.now();
  await held.release();
  await (await waiting).release();
  expect(performance.now() - startedMs).toBeLessThan(20_000);
});

it("29: a dead first waiter of Java's costs the others no longer than its deadline, and not less", async () => {
  const name = server.name("dead-java");
  const [holder, waiter] = [await server.locks(), await server.locks()];
  const held = await holder.fairMutex(name).acquire();
  const deadlineMs = (await server.nowMs()) + 2_000;
  await plantJava(name, 1, deadlineMs);
  const waiting = waiter.fairMutex(name).acquire();
  await server.untilLong(queueOf(name), 2);
  await held.release();
  const handle = await waiting;
  const grantedMs = await server.nowMs();
  expect(grantedMs).toBeGreaterThanOrEqual(deadlineMs);
  expect(grantedMs).toBeLessThan(deadlineMs + 20_000);
  await handle.release();
});

it.each([
  ["first", 0, [-1, -1]],
  ["second", 1, [0, -1]],
  ["last", 2, [0, 0]],
] as const)(
  "30: when the %s of three waiters gives up, deadlines behind it shrink by the whole wait, and no others",
  async (_which, index, waits) => {
    const name = server.name("shrink");
    const held = await (await server.locks(patient)).fairMutex(name).acquire();
    const aborts = [new AbortController(), new AbortController(), new AbortController()];
    const waiting: Promise<unknown>[] = [];
    for (const [i, { signal }] of aborts.entries()) {
      waiting.push((await server.locks(patient)).fairMutex(name).acquire({ signal }));
      await server.untilLong(queueOf(name), i + 1);
    }
    const ends = waiting.map((each) => expect(each).rejects.toBe("enough"));
    const before = (await deadlines(name)).filter((_, i) => i !== index);
    aborts[index]?.abort("enough");
    await ends[index];
    // The call ends at once, and its place in the queue is taken back behind it.
    await server.untilLong(queueOf(name), 2);
    const after = await deadlines(name);
    // Heartbeats raise deadlines a little in the meantime, so the changes are rounded to quarters of a wait.
    expect(
      after.map((each, i) => Math.round((each - (before[i] ?? Number.NaN)) / (fleetWaitMs / 4)) / 4),
    ).toEqual(waits);
    for (const abort of aborts) abort.abort("enough");
    await Promise.all(ends);
    await held.release();
    await nothingLeft(name);
  },
);

it("31: deadlines do not drift however often others give up behind, or try without waiting", async () => {
  const name = server.name("drift");
  const held = await (await server.locks(patient)).fairMutex(name).acquire();
  const first = (await server.locks(patient)).fairMutex(name).acquire();
  await server.untilLong(queueOf(name), 1);
  const [before = Number.NaN] = await deadlines(name);
  const other = (await server.locks(patient)).fairMutex(name);
  for (let i = 0; i < 10; i++) {
    const enough = new AbortController();
    const gaveUp = expect(other.acquire({ signal: enough.signal })).rejects.toBe("enough");
    await server.untilLong(queueOf(name), 2);
    enough.abort("enough");
    await gaveUp;
    expect(await other.tryAcquire()).toBeNull();
    const [own = Number.NaN, ...more] = await deadlines(name);
    expect(more).toEqual([]);
    expect(Math.abs(own - before)).toBeLessThan(fleetWaitMs / 4);
  }
  await held.release();
  await (await first).release();
  await nothingLeft(name);
});

it("31: deadlines do not drift over many grants: the last is never further off than a lease and its place in waits", async () => {
  const name = server.name("grants");
  // Waiters whose place is kept for long report rarely, and only these reports raise their deadlines.
  const reporting = { fairLockWaitTimeoutMs: fleetWaitMs };
  const clients = [await server.locks(reporting), await server.locks(reporting)];
  const leaseMs = 5_000;
  let furthest = 0;
  const held = await (clients[0] as RedisLocks).fairMutex(name).acquire({ leaseMs });
  const rounds = Array.from({ length: 12 }, async (_, i) => {
    const handle = await (clients[i % 2] as RedisLocks).fairMutex(name).acquire({ leaseMs });
    const [seen, nowMs] = [await deadlines(name), await server.nowMs()];
    for (const [place, each] of seen.entries()) {
      furthest = Math.max(furthest, each - nowMs - (place + 1) * fleetWaitMs);
      // A live waiter is never overdue, however much the grants before it took off its deadline.
      expect(each).toBeGreaterThan(nowMs - 1_000);
    }
    await handle.release();
  });
  await server.untilLong(queueOf(name), 12);
  await held.release();
  await Promise.all(rounds);
  // The deadline of a waiter is what is left of the lease, and one wait for each place up to its own.
  expect(furthest).toBeLessThan(leaseMs + fleetWaitMs / 4);
  await nothingLeft(name);
});

it("32: two waiters whose clients went silent keep a third from the lock for their alive window only", async () => {
  const name = server.name("abandoned");
  // All three have to be seen in the queue before the window of the first is over.
  const aliveMs = 4_000;
  const [holder, live] = [await server.locks(), await server.locks({ aliveMs })];
  const silent = [
    await server.linked({ aliveMs, connectTimeoutMs: 3_000 }),
    await server.linked({ aliveMs, connectTimeoutMs: 3_000 }),
  ];
  const held = await holder.fairMutex(name).acquire();
  for (const [i, { locks, link }] of silent.entries()) {
    locks
      .fairMutex(name)
      .acquire()
      .catch(() => {});
    await server.untilLong(queueOf(name), i + 1);
    await link.setMode("hole");
  }
  const third = live.fairMutex(name).acquire();
  await server.untilLong(queueOf(name), 3);
  const releasedMs = performance.now();
  await held.release();
  const handle = await third;
  expect(performance.now() - releasedMs).toBeLessThan(20_000);
  await handle.release();
  await nothingLeft(name);
});

it("32: behind two waiters that Java abandoned, a third has the lock once both deadlines are over", async () => {
  const name = server.name("abandoned-java");
  const [holder, live] = [await server.locks(), await server.locks()];
  const held = await holder.fairMutex(name).acquire();
  const nowMs = await server.nowMs();
  await plantJava(name, 1, nowMs + 2_000);
  await plantJava(name, 2, nowMs + 3_000);
  const third = live.fairMutex(name).acquire();
  await server.untilLong(queueOf(name), 3);
  await held.release();
  await (await third).release();
  const endedMs = await server.nowMs();
  expect(endedMs).toBeGreaterThanOrEqual(nowMs + 3_000);
  expect(endedMs).toBeLessThan(nowMs + 20_000);
  await nothingLeft(name);
});

it("33: a holder's lease that lapses hands over in order", async () => {
  const name = server.name("lapse");
  const [one, two, three] = [await server.locks(), await server.locks(lasting), await server.locks(lasting)];
  // The first waiter has to be seen in the queue before this lease is over.
  await one.fairMutex(name).acquire({ leaseMs: 2_000, renew: false });
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

it("34: several locks of the same clients are independent: each has its own holder and its own order", async () => {
  const clients = [await server.locks(lasting), await server.locks(lasting), await server.locks(lasting)];
  const names = [server.name("independent"), server.name("independent"), server.name("independent")];
  // Each client holds one of them and waits for the two others, in opposite orders.
  const held = await Promise.all(
    names.map((name, i) => (clients[i] as RedisLocks).fairMutex(name).acquire()),
  );
  const granted = new Map<string, number[]>(names.map((name) => [name, []]));
  const waiting: Promise<unknown>[] = [];
  for (const step of [1, 2]) {
    for (const [i, name] of names.entries()) {
      const client = (i + step) % 3;
      waiting.push(
        (clients[client] as RedisLocks)
          .fairMutex(name)
          .acquire()
          .then(async (handle) => {
            granted.get(name)?.push(client);
            await handle.release();
          }),
      );
      await server.untilLong(queueOf(name), step);
    }
  }
  await held[1]?.release();
  await eventually(() => granted.get(names[1] as string)?.length === 2, {
    what: "the second lock to go round",
  });
  expect([granted.get(names[0] as string), granted.get(names[2] as string)]).toEqual([[], []]);
  await held[0]?.release();
  await held[2]?.release();
  await Promise.all(waiting);
  expect([...granted.values()]).toEqual([
    [1, 2],
    [2, 0],
    [0, 1],
  ]);
});

it("36: a try whose answers are lost leaves no entry in the queue", async () => {
  const name = server.name("timeout");
  const held = await (await server.locks()).fairMutex(name).acquire();
  const { locks, link } = await server.linked();
  // The server queues the try, and its answer is lost. Then the answer to the script that takes the try out of the queue is
  // lost too.
  const lost = link.dropReply({ name: ["EVALSHA", "EVAL"], key: name, times: 2 });
  // A server that is late with its next answer too has not said whether the lock is taken.
  const tried = locks.fairMutex(name).tryAcquire({ waitMs: 500 });
  expect([null, "HF_BACKEND"]).toContain(await tried.catch(({ code }) => code));
  expect(lost.hits.length).toBeGreaterThan(0);
  await eventually(async () => (await server.number("LLEN", queueOf(name))) === 0, {
    what: "an empty queue",
  });
  expect(await server.number("EXISTS", deadlinesOf(name))).toBe(0);
  await held.release();
});

it("36: a try that a silent server leaves without an answer gives up in time, and its entry goes once there is contact", async () => {
  const name = server.name("silent");
  const held = await (await server.locks()).fairMutex(name).acquire();
  const { locks, link } = await server.linked({ releaseTimeoutMs: 400 });
  const waiting = locks.fairMutex(name).tryAcquire({ waitMs: 2_000 });
  await server.untilLong(queueOf(name), 1);
  const startedMs = performance.now();
  await link.setMode("hole");
  // The server may have fallen silent before it confirmed the waiter's place. Then the client cannot know that the lock is
  // taken.
  expect([null, "HF_BACKEND"]).toContain(await waiting.catch(({ code }) => code));
  expect(performance.now() - startedMs).toBeLessThan(10_000);
  expect(await server.number("LLEN", queueOf(name))).toBe(1);
  await link.setMode("ok");
  await eventually(async () => (await server.number("LLEN", queueOf(name))) === 0, {
    what: "an empty queue",
  });
  await held.release();
  await nothingLeft(name);
});
