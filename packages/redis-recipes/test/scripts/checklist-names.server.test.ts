import { InvalidArgumentError } from "@holdfast/core";
import { describe, expect, test } from "vitest";
import { redissonChannels } from "../../src/layout/channels.js";
import { slotOfKey } from "../../src/layout/hash-slot.js";
import { fairKeyList, fairKeys, mutexKeyList, mutexKeys, readHoldKeyList } from "../../src/layout/keys.js";
import { redisLocks } from "../../src/provider/redis-locks.js";
import { fairAcquire } from "../../src/scripts/fair/acquire.js";
import { mutexForce } from "../../src/scripts/mutex/force.js";
import { readAcquire } from "../../src/scripts/read-write/read-acquire.js";
import { semaphoreGive } from "../../src/scripts/semaphore/give.js";
import { stage } from "../model/stage.js";
import { anna, bert, callsOn, fair, java, lock, name, semaphore } from "./checklist-calls.js";

const on = stage();
const { see, take, free, fairTake, fairFree, write, read, unwrite, unread, sc, takePermits, ids, latch } =
  callsOn(on);

describe("layout 1: names", () => {
  const asked = {
    owner: anna,
    leaseMs: 30_000,
    mayWait: true,
    aliveMs: 3_500,
    notAfterMs: null,
    tokenTtlMs: 604_800_000,
    floor: 0n,
    changes: "",
    readNumber: 1,
  };
  // A name without braces gets braces around it. A name that has them stays as it is.
  test.each([
    ["plain", "redisson_lock_token:{plain}", "{plain}"],
    ["a{b}c", "redisson_lock_token:a{b}c", "a{b}c"],
    ["{x}", "redisson_lock_token:{x}", "{x}"],
    ["a:{b}", "redisson_lock_token:a:{b}", "a:{b}"],
  ])("keys that a grant of %s makes", async (raw, token, before) => {
    const keys = fairKeys(raw);
    const seen = await see(fairAcquire, fairKeyList(keys), fairAcquire.args({ ...asked, waitMs: 300_000 }));
    expect([...seen.keys.keys()].sort()).toEqual([raw, token].sort());
    const waits = { ...asked, owner: bert, waitMs: 300_000 };
    const queued = await see(fairAcquire, fairKeyList(keys), fairAcquire.args(waits));
    for (const kind of ["redisson_lock_queue", "redisson_lock_timeout", "holdfast_alive"])
      expect([...queued.keys.keys()]).toContain(token.replace("redisson_lock_token", kind));
    await on.server.redis.flushall();
    const reading = await see(readAcquire, readHoldKeyList(raw, asked.owner), readAcquire.args(asked));
    expect([...reading.keys.keys()]).toContain(`${before}:${anna}:rwlock_timeout:1`);
    for (const key of [...queued.keys.keys(), ...reading.keys.keys()])
      expect(slotOfKey(key)).toBe(slotOfKey(raw));
  });

  test.each(["a{b", "a}b", "{}x"])(
    "%s is refused for a cluster before anything is asked, and is one name on one server",
    async (raw) => {
      const cluster = redisLocks({ cluster: { nodes: [{ host: "127.0.0.1", port: 1 }] } });
      try {
        for (const view of [
          () => cluster.mutex(raw),
          () => cluster.fairMutex(raw),
          () => cluster.readWriteLock(raw),
          () => cluster.permitSemaphore(raw),
        ]) {
          expect(view).toThrow(InvalidArgumentError);
        }
      } finally {
        await cluster.close({ releaseTimeoutMs: 0 });
      }
      const keys = mutexKeys(raw);
      const seen = await see(
        fairAcquire,
        fairKeyList(fairKeys(raw)),
        fairAcquire.args({ ...asked, waitMs: 1_000 }),
      );
      expect([...seen.keys.keys()].sort()).toEqual([raw, keys.token].sort());
    },
  );
});

test("layout 14: a decimal number, and never a negative one, in every message on a channel of Redisson's", async () => {
  const published: (readonly [string, string])[] = [];
  const step = async (seen: Promise<{ readonly published: readonly (readonly [string, string])[] }>) => {
    published.push(...(await seen).published);
  };
  const marker = `${semaphore.markerPrefix}u:1`;
  const giving = semaphoreGive.args({ permits: 4, markerMs: 1_000, ...sc });
  const give = async (number: string) => {
    await on.server.redis.set(name, number);
    await on.server.redis.set(marker, "taken");
    return await see(semaphoreGive, [name, marker], giving);
  };
  const force = {
    expected: "",
    publish: "publish" as const,
    channel: redissonChannels.mutex(name),
    changes: "",
  };

  await step(take(anna));
  await step(take(bert));
  await step(free(anna));
  await step(free(bert));
  await step(take(java));
  await step(see(mutexForce, mutexKeyList(lock), mutexForce.args(force)));
  await on.server.redis.flushall();
  await step(fairTake(anna));
  await step(fairTake(bert));
  await step(fairFree(anna));
  await on.server.redis.del(fair.queue);
  await on.server.redis.flushall();
  for (const call of [read, unread, write, read, unwrite]) await step(call(anna));
  await on.server.redis.flushall();
  for (const number of ["0", "-7", "-4"]) await step(give(number));
  await on.server.redis.flushall();
  await step(takePermits(ids("a", "b")));
  await on.server.redis.flushall();
  for (const call of [() => latch("set", 2), () => latch("down", 1), () => latch("down", 1)])
    await step(call());

  const theirs = published.filter(([channel]) => channel.startsWith("redisson_"));
  expect(new Set(theirs.map(([channel]) => channel.replace(/:?\{.*/, "")))).toEqual(
    new Set([
      "redisson_lock__channel",
      "redisson_rwlock",
      "redisson_sc",
      "redisson_countdownlatch__channel__",
    ]),
  );
  for (const [channel, message] of theirs) expect(message, channel).toMatch(/^\d+$/);
  // Messages that carry more than a number go to our own channels.
  expect(
    published.some(([channel, message]) => channel.startsWith("holdfast_") && message.startsWith("{")),
  ).toBe(true);
});
