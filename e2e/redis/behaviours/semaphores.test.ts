import { setImmediate } from "node:timers/promises";
import { InvalidArgumentError, LockLostError, type Semaphore } from "@holdfast/core";
import type { RedisLocks } from "@holdfast/redis-recipes";
import { eventually } from "@holdfast/test-servers";
import { expect, it } from "vitest";
import { OneServer, rare } from "../../support/redis/one-redis-server.js";
import { share } from "../../support/share.js";

const server = new OneServer();
const grantsOf = (name: string): string => `{${name}}:timeout`;
const channelOf = (name: string): string => `redisson_sc:{${name}}`;

/** Both kinds of semaphore, opened with `limit` permits. */
const kinds: readonly [string, (locks: RedisLocks, name: string, limit: number) => Promise<Semaphore>][] = [
  ["semaphore", async (locks, name, limit) => locks.plainSemaphore(name, limit)],
  [
    "permit semaphore",
    async (locks, name, limit) => {
      const semaphore = locks.permitSemaphore(name);
      await semaphore.trySetLimit(limit);
      return semaphore;
    },
  ],
];

/** Does what Redisson's release does: it increments the number, which creates a missing one, and publishes it. */
async function releaseAsJava(name: string, permits: number): Promise<void> {
  const free = await server.number("INCRBY", name, String(permits));
  await server.node.command("PUBLISH", channelOf(name), free);
}

async function untilListening(name: string, clients: number): Promise<void> {
  await expect.poll(() => server.texts("PUBSUB", "NUMSUB", channelOf(name))).toContain(String(clients));
}

it("49: an acquire without a number set waits or is refused, and a number lets it in", async () => {
  const name = server.name("unset");
  const semaphore = (await server.locks()).permitSemaphore(name);
  expect(await semaphore.tryAcquire()).toBeNull();
  expect(await semaphore.limit()).toBe(0);
  const waiting = semaphore.acquire({ waitMs: 10_000 });
  expect(await semaphore.trySetLimit(1)).toBe(true);
  await (await waiting).release();
});

it("49: a time-out of an acquire without a number set says that there is none", async () => {
  const semaphore = (await server.locks()).permitSemaphore(server.name("unset"));
  await expect(semaphore.acquire({ waitMs: 500 })).rejects.toMatchObject({
    code: "HF_ACQUIRE_TIMEOUT",
    cause: { message: expect.stringMatching(/has no limit yet: call setLimit/) },
  });
});

it("49: a time-out of an acquire of more permits than there are says how many there are", async () => {
  const semaphore = (await server.locks()).permitSemaphore(server.name("small"));
  await semaphore.setLimit(5);
  await expect(semaphore.acquire({ permits: 10, waitMs: 500 })).rejects.toMatchObject({
    code: "HF_ACQUIRE_TIMEOUT",
    cause: { message: expect.stringMatching(/its limit of 5: call setLimit/) },
  });
});

it("50: a limit is set once by trySetLimit, and changed by setLimit", async () => {
  const name = server.name("once");
  const semaphore = (await server.locks()).permitSemaphore(name);
  expect(await semaphore.trySetLimit(2)).toBe(true);
  expect(await semaphore.trySetLimit(5)).toBe(false);
  expect(await semaphore.limit()).toBe(2);
  await semaphore.setLimit(5);
  expect(await semaphore.limit()).toBe(5);
});

it("50: the first take of a semaphore sets the number, and a number that is there stays", async () => {
  const name = server.name("first");
  const locks = await server.locks();
  const permit = await locks.plainSemaphore(name, 3).acquire();
  expect(await server.number("GET", name)).toBe(2);
  await permit.release();
  await server.node.command("SET", name, 1);
  const other = await locks.plainSemaphore(name, 3).acquire();
  expect(await server.number("GET", name)).toBe(0);
  await other.release();
});

it("50: a number with a time to live takes the permits with it: holders hear of it, and none gets in until it is set again", async () => {
  const name = server.name("vanishes");
  const semaphore = (await server.locks({ leaseMs: 900 })).permitSemaphore(name);
  await semaphore.setLimit(2);
  await server.node.command("PEXPIRE", name, 1_000);
  const permit = await semaphore.acquire();
  const { lost } = permit;
  expect(await server.number("PTTL", grantsOf(name))).toBeGreaterThan(0);
  await eventually(async () => (await server.number("EXISTS", name, grantsOf(name))) === 0, {
    what: "the end",
  });
  await eventually(() => lost.aborted, { what: "the holder to be told" });
  expect(await semaphore.tryAcquire()).toBeNull();
  const waiting = semaphore.acquire({ waitMs: 10_000 });
  expect(await semaphore.trySetLimit(1)).toBe(true);
  const next = await waiting;
  // The late release of the lost permit adds nothing to the number.
  expect(await permit.release()).toBe("lost");
  expect(await server.number("GET", name)).toBe(0);
  await next.release();
});

it("51: permits added by another client, with Redisson's message, wake a waiter that needs several", async () => {
  const name = server.name("added");
  const semaphore = (await server.locks()).plainSemaphore(name, 3);
  await server.node.command("SET", name, 0);
  const waiting = semaphore.acquire({ permits: 3, waitMs: 10_000 });
  await server.node.command("SET", name, 3);
  await server.node.command("PUBLISH", `redisson_sc:{${name}}`, 3);
  const permit = await waiting;
  expect(await server.number("GET", name)).toBe(0);
  await permit.release();
});

it("51: a negative number of permits refuses, and a release repairs it", async () => {
  const name = server.name("negative");
  const locks = await server.locks();
  const held = await locks.plainSemaphore(name, 1).acquire();
  await server.node.command("SET", name, -1);
  expect(await locks.plainSemaphore(name, 1).tryAcquire()).toBeNull();
  expect(await held.release()).toBe("released");
  expect(await server.number("GET", name)).toBe(0);
});

it.each(kinds)(
  "52: an acquire of several permits of a %s waits until all of them are free at once",
  async (_kind, open) => {
    const name = server.name("several");
    const semaphore = await open(await server.locks(), name, 5);
    const held = [await semaphore.acquire({ permits: 2 }), await semaphore.acquire({ permits: 3 })];
    let granted = false;
    const waiting = (await open(await server.locks(), name, 5)).acquire({ permits: 4, waitMs: 10_000 });
    const done = waiting.then(() => {
      granted = true;
    });
    await untilListening(name, 1);
    await held[0]?.release();
    await expect(semaphore.acquire({ permits: 3, waitMs: 50 })).rejects.toThrow();
    expect(granted).toBe(false);
    await held[1]?.release();
    await done;
    expect(await server.number("GET", name)).toBe(1);
    await (await waiting).release();
    expect(await server.number("GET", name)).toBe(5);
  },
);

it.each(kinds)("52: no permits of a %s is nothing to ask for, and refused at once", async (_kind, open) => {
  const semaphore = await open(await server.locks(), server.name("zero"), 2);
  await expect(semaphore.acquire({ permits: 0 })).rejects.toBeInstanceOf(InvalidArgumentError);
});

it("53: permits that Java drains are not there for us, and those that it makes by releasing are", async () => {
  const name = server.name("drained");
  const semaphore = (await server.locks()).plainSemaphore(name, 3);
  await server.node.command("SET", name, 0);
  expect(await semaphore.tryAcquire()).toBeNull();
  const waiting = semaphore.acquire({ permits: 2, waitMs: 10_000 });
  await untilListening(name, 1);
  // A drain in Java leaves no free permits. Here the whole number is deleted, and only a release creates it again.
  await server.node.command("DEL", name);
  await releaseAsJava(name, 2);
  const permit = await waiting;
  expect(await permit.release()).toBe("released");
  expect(await server.number("GET", name)).toBeGreaterThanOrEqual(2);
});

it("53: a release gives back what was taken, once, and publishes the new number", async () => {
  const name = server.name("give");
  const locks = await server.locks();
  const permit = await locks.plainSemaphore(name, 4).acquire({ permits: 2 });
  expect(await server.number("GET", name)).toBe(2);
  expect(await permit.release()).toBe("released");
  expect(await permit.release()).toBe("released");
  expect(await server.number("GET", name)).toBe(4);
});

it("54: permit ids are unique, 32 hex digits, and 16 raw bytes at the server", async () => {
  const name = server.name("ids");
  const semaphore = (await server.locks()).permitSemaphore(name);
  await semaphore.setLimit(3);
  const one = await semaphore.acquire({ permits: 2 });
  const two = await semaphore.acquire();
  const ids = [...one.permitIds, ...two.permitIds];
  expect(new Set(ids).size).toBe(3);
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{32}$/);
  const length = "return string.len(redis.call('ZRANGE', KEYS[1], 0, 0)[1])";
  expect(await server.number("EVAL", length, "1", `{${name}}:timeout`)).toBe(16);
});

it("54: a permit that is released twice, by two calls or one after the other, comes back once", async () => {
  const name = server.name("twice");
  const semaphore = (await server.locks()).permitSemaphore(name);
  await semaphore.setLimit(2);
  const permit = await semaphore.acquire();
  const ends = await Promise.all([permit.release(), permit.release()]);
  expect([...ends, await permit.release()]).toEqual(["released", "released", "released"]);
  expect(await server.number("GET", name)).toBe(2);
  expect(await semaphore.limit()).toBe(2);
});

it("54: a member of another length, as an older Java wrote it, counts as held, is shown, and is never ours to give back", async () => {
  const name = server.name("length");
  const semaphore = (await server.locks()).permitSemaphore(name);
  await semaphore.setLimit(1);
  await server.node.command("ZADD", grantsOf(name), (await server.nowMs()) + 60_000, "not sixteen bytes");
  await server.node.command("SET", name, 0);
  expect(await semaphore.tryAcquire()).toBeNull();
  expect(await semaphore.limit()).toBe(1);
  expect((await semaphore.inspect()).held).toHaveLength(1);
});

it("55: a permit whose time is over goes to the next, and its late release reports a loss", async () => {
  const name = server.name("expired");
  const semaphore = (await server.locks()).permitSemaphore(name);
  await semaphore.setLimit(1);
  const first = await semaphore.acquire({ leaseMs: 300, renew: false });
  const second = await (await server.locks()).permitSemaphore(name).acquire({ waitMs: 10_000 });
  expect(await first.release()).toBe("lost");
  await second.confirm();
  expect(await semaphore.limit()).toBe(1);
  await second.release();
});

it("56: a batch of which one permit is over ends as a loss, and what is left of it goes back, each permit once", async () => {
  const name = server.name("batch");
  const semaphore = (await server.locks()).permitSemaphore(name);
  await semaphore.setLimit(3);
  const batch = await semaphore.acquire({ permits: 3 });
  const [id = ""] = batch.permitIds;
  // The end of this permit is set to the past, so the next request of any client gives the permit back.
  await server.node.command("ZADD", grantsOf(name), 1, Buffer.from(id, "hex"));
  const other = await (await server.locks()).permitSemaphore(name).acquire({ waitMs: 5_000 });
  expect(await batch.release()).toBe("lost");
  expect(await server.number("GET", name)).toBe(2);
  await other.confirm();
  expect(await other.release()).toBe("released");
  expect(await server.number("GET", name)).toBe(3);
  expect(await semaphore.limit()).toBe(3);
});

it("57: a confirmation sets the full lease where the permit is there, and tells of the loss where it is over or unknown", async () => {
  const name = server.name("confirmed");
  const semaphore = (await server.locks({ leaseMs: 20_000 })).permitSemaphore(name);
  await semaphore.setLimit(2);
  const permits = [await semaphore.acquire(), await semaphore.acquire()];
  const [over, unknown] = permits.map(({ permitIds: [id = ""] }) => Buffer.from(id, "hex"));
  await server.node.command("ZADD", grantsOf(name), (await server.nowMs()) + 5_000, over as Buffer);
  await permits[0]?.confirm();
  expect(await server.number("ZSCORE", grantsOf(name), over as never)).toBeGreaterThan(
    (await server.nowMs()) + 15_000,
  );
  await server.node.command("ZADD", grantsOf(name), (await server.nowMs()) - 1, over as Buffer);
  await server.node.command("ZREM", grantsOf(name), unknown as Buffer);
  for (const permit of permits) await expect(permit.confirm()).rejects.toBeInstanceOf(LockLostError);
});

it("57: permits are renewed while they are held, and a renewal of one that is gone tells its loss", async () => {
  const name = server.name("renewed");
  const semaphore = (await server.locks({ leaseMs: 3_000 })).permitSemaphore(name);
  await semaphore.setLimit(1);
  const permit = await semaphore.acquire();
  const score = async () =>
    Number((await server.texts("ZRANGE", `{${name}}:timeout`, "0", "0", "WITHSCORES"))[1]);
  const before = await score();
  await expect.poll(score, { timeout: 20_000 }).toBeGreaterThan(before);
  await server.node.command("DEL", `{${name}}:timeout`);
  await expect.poll(() => permit.lost.aborted, { timeout: 20_000 }).toBe(true);
});

it("58: a limit is raised, lowered, and lowered below what is held", async () => {
  const name = server.name("moved");
  const semaphore = (await server.locks()).permitSemaphore(name);
  await semaphore.setLimit(2);
  const held = [await semaphore.acquire(), await semaphore.acquire()];
  const waiting = semaphore.acquire({ waitMs: 10_000 });
  await semaphore.setLimit(3);
  held.push(await waiting);
  await semaphore.setLimit(1);
  expect(await server.number("GET", name)).toBe(-2);
  expect(await semaphore.tryAcquire()).toBeNull();
  for (const permit of held) await permit.release();
  expect((await semaphore.inspect()).available).toBe(1);
});

it("59: a prefix is on the number and on the grants", async () => {
  const name = server.name("prefixed");
  const semaphore = (await server.locks({ keyPrefix: "fleet:" })).permitSemaphore(name);
  await semaphore.setLimit(1);
  await semaphore.acquire();
  expect(await server.number("EXISTS", `fleet:${name}`, `{fleet:${name}}:timeout`)).toBe(2);
});

it.each(kinds)(
  "60: a %s with waiters for one to three permits: never more out than there are, all served, none missing after",
  async (_kind, open) => {
    const name = server.name("crowd");
    const limit = 5;
    const rounds = share("rounds of each of 12 workers", 5, 100);
    const seen = { out: 0, most: 0, over: 0, served: 0 };
    const startedMs = performance.now();
    const workers: Promise<void>[] = [];
    for (let client = 0; client < 3; client++) {
      const semaphore = await open(await server.locks(), name, limit);
      for (let worker = 0; worker < 4; worker++) {
        const permits = 1 + (worker % 3);
        workers.push(
          (async () => {
            for (let i = 0; i < rounds; i++) {
              await semaphore.withPermit({ permits, waitMs: 30_000 }, async () => {
                seen.out += permits;
                seen.most = Math.max(seen.most, seen.out);
                if (seen.out > limit) seen.over++;
                await setImmediate();
                seen.out -= permits;
                seen.served++;
              });
            }
          })(),
        );
      }
    }
    await Promise.all(workers);
    console.log(
      `${seen.served} served in ${(performance.now() - startedMs).toFixed(0)} ms, at most ${seen.most} out`,
    );
    expect(seen).toMatchObject({ out: 0, over: 0, served: 12 * rounds });
    expect(seen.most).toBeGreaterThan(1);
    expect(await server.number("GET", name)).toBe(limit);
  },
);

it.each(kinds)(
  "60: a permit of a %s goes at once to a waiter that it is enough for, though one that needs more came first",
  async (_kind, open) => {
    const name = server.name("behind");
    const holder = await open(await server.locks(), name, 3);
    const held = [await holder.acquire(), await holder.acquire({ permits: 2 })];
    const waiting = await open(await server.locks(rare), name, 3);
    const large = waiting.acquire({ permits: 3, waitMs: 20_000 });
    await untilListening(name, 1);
    const small = waiting.acquire({ waitMs: 20_000 });
    // By now both waiters have looked at the number and wait for a message.
    await expect(waiting.acquire({ waitMs: 60 })).rejects.toThrow();
    const releasedMs = performance.now();
    await held[0]?.release();
    const permit = await small;
    expect(performance.now() - releasedMs).toBeLessThan(9_000);
    await permit.release();
    await held[1]?.release();
    await (await large).release();
    expect(await server.number("GET", name)).toBe(3);
  },
);
