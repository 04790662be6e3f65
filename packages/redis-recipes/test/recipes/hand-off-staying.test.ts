import { beforeAll, expect, test } from "vitest";
import { redissonChannels } from "../../src/layout/channels.js";
import { keys, lockName, Scene } from "./scene.js";
import { withoutLongWaits } from "./without-long-waits.js";

beforeAll(withoutLongWaits);

const javaChannel = redissonChannels.mutex(lockName);

test("waiters of one client behind the first keep their places by one call in two seconds, and the first asks each second", async () => {
  const scene = new Scene();
  await scene.acquire(scene.client());
  await scene.queue(scene.client());
  const client = scene.client();
  for (let each = 0; each < 40; each++) await scene.queue(client);
  await scene.runtime.advance(5_000);
  const before = { asks: scene.count("mutex-heartbeat"), stays: scene.count("stay") };
  await scene.runtime.advance(20_000);
  expect(scene.count("stay") - before.stays).toBeLessThanOrEqual(10);
  expect(scene.count("stay") - before.stays).toBeGreaterThanOrEqual(9);
  expect(scene.count("mutex-heartbeat") - before.asks).toBeLessThanOrEqual(21);
  const nowMs = scene.redis.nowUs / 1_000;
  const scores = [...scene.redis.now.zset(keys.alive).values()];
  expect(scores).toHaveLength(41);
  expect(Math.min(...scores)).toBeGreaterThan(nowMs);
});

test("a queue whose first waiter has died lasts as long as a waiter lives behind it, and no live waiter loses its place", async () => {
  const scene = new Scene();
  const holder = await scene.acquire(scene.client());
  const dead = scene.client();
  await scene.queue(dead);
  const [second, third] = [await scene.queue(scene.client()), await scene.queue(scene.client())];
  dead.crash();
  // That is far more than the ten windows for which the keys of the queue last without news.
  await scene.runtime.advance(120_000);
  expect(scene.waiters).toEqual([second.owner, third.owner]);
  const releasedMs = scene.runtime.nowMs();
  await scene.settle(holder.release());
  await scene.settle((await scene.settle(second.granted)).release());
  await scene.settle(third.granted);
  expect(scene.runtime.nowMs() - releasedMs).toBeLessThan(50);
});

test("when the holder and the first waiter die together the next one has the lock soon after the lease", async () => {
  const scene = new Scene();
  const dying = scene.client();
  await scene.acquire(dying);
  const first = scene.client();
  await scene.queue(first);
  const { granted } = await scene.queue(scene.client());
  await scene.runtime.advance(4_000);
  for (const client of [dying, first]) client.crash();
  const leftMs = scene.pttlMs;
  const crashedMs = scene.runtime.nowMs();
  await scene.settle(granted);
  expect(scene.runtime.nowMs() - crashedMs - leftMs).toBeLessThan(4_100);
});

test("while Java holds, the one behind a first waiter that has died or given up comes to listen in its place", async () => {
  for (const how of ["dies", "gives up"] as const) {
    const scene = new Scene();
    scene.javaTakes(600_000);
    const [first, second] = [scene.client(), scene.client()];
    const giveUp = new AbortController();
    await scene.queue(first, { signal: giveUp.signal });
    const { granted } = await scene.queue(second);
    await scene.runtime.advance(3_000);
    expect(second.line.listensTo(javaChannel)).toBe(false);
    if (how === "dies") first.crash();
    else giveUp.abort();
    // The dead waiter is out of the queue after its alive window, and after a round of looks by the waiter behind it.
    await scene.runtime.advance(how === "dies" ? 3_500 + 16_000 : 50);
    expect(second.line.listensTo(javaChannel)).toBe(true);
    scene.redis.space.del(lockName);
    scene.redis.onPublish(javaChannel, "0");
    const freedMs = scene.runtime.nowMs();
    await scene.settle(granted);
    expect(scene.runtime.nowMs() - freedMs).toBeLessThan(20);
  }
});
