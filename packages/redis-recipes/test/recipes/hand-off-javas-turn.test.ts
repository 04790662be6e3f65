import type { LockHandle } from "@holdfast/core";
import { expect, test } from "vitest";
import { redissonChannels } from "../../src/layout/channels.js";
import { longestTurnMs } from "../../src/scripts/lua/stand.js";
import { keys, lockName, Scene } from "./scene.js";

const javaChannel = redissonChannels.mutex(lockName);
const holdMs = 100;

/** Hands the lock to two of our three waiters in turn while Java listens. Then the lock is freed for Java. */
async function freedForJava(javas: number): Promise<{ scene: Scene; granted: Promise<LockHandle> }> {
  const scene = new Scene();
  const own = { maxDirectRun: 2 };
  scene.redis.space.listeners.set(javaChannel, javas);
  let handle = await scene.acquire(scene.client(own));
  const line = [];
  for (let each = 0; each < 3; each++) line.push(await scene.queue(scene.client(own)));
  for (const { granted } of line.slice(0, 2)) {
    await scene.runtime.advance(holdMs);
    await scene.settle(handle.release());
    handle = await scene.settle(granted);
  }
  await scene.runtime.advance(holdMs);
  await scene.settle(handle.release());
  return { scene, granted: (line[2] as (typeof line)[number]).granted };
}

async function waitedMs(scene: Scene, granted: Promise<LockHandle>): Promise<number> {
  const freedMs = scene.runtime.nowMs();
  await scene.settle(granted);
  return scene.runtime.nowMs() - freedMs;
}

test("the lock freed for Java is Java's for its share of the time that our run took, and ours again then", async () => {
  const { scene, granted } = await freedForJava(1);
  expect(scene.holder).toBeUndefined();
  // There were two holds since the run began, and two clients of ours contend at its end.
  const waited = await waitedMs(scene, granted);
  expect(waited).toBeGreaterThan(holdMs / 2);
  expect(waited).toBeLessThan(2 * holdMs);
});

test("Java takes the lock in its turn and releases it, and its message brings the grant to our first waiter at once", async () => {
  const { scene, granted } = await freedForJava(1);
  await scene.runtime.advance(30);
  expect(scene.holder).toBeUndefined();
  scene.javaTakes();
  await scene.runtime.advance(1_000);
  scene.redis.space.del(lockName);
  scene.redis.onPublish(javaChannel, "0");
  expect(await waitedMs(scene, granted)).toBeLessThan(20);
});

test("where no Java listens, the lock freed for it goes to ours at once", async () => {
  const { scene, granted } = await freedForJava(0);
  expect(await waitedMs(scene, granted)).toBeLessThan(20);
});

test("a server's clock that is set back makes no turn of Java's longer than the longest", async () => {
  const { scene, granted } = await freedForJava(1);
  scene.redis.offsetMs -= 3_600_000;
  expect(scene.redis.space.string(keys.run)).toMatch(/^j\d+$/);
  const waited = await waitedMs(scene, granted);
  expect(waited).toBeLessThan(longestTurnMs + 2_000);
});
