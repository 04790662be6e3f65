import type { LockHandle } from "@holdfast/core";
import { expect, test } from "vitest";
import { redissonChannels } from "../../src/layout/channels.js";
import { fairKeys } from "../../src/layout/keys.js";
import { lockName, Scene } from "./scene.js";
import type { SimulatedClient } from "./simulated-client.js";

const rare = { heartbeatMs: 20_000, aliveMs: 70_000 };
const javaChannel = redissonChannels.mutex(lockName);

test("rule 6: after so many hand-offs in a row one release frees the lock for all, and none where no Java is", async () => {
  for (const javaPeers of [true, false]) {
    const scene = new Scene();
    const own = { maxDirectRun: 2, javaPeers };
    let handle = await scene.acquire(scene.client(own));
    const line = [];
    for (let each = 0; each < 6; each++) line.push(await scene.queue(scene.client(own)));
    for (const { granted } of line) {
      await scene.settle(handle.release());
      handle = await scene.settle(granted);
    }
    const plain = scene.published.filter(({ channel }) => channel === javaChannel);
    expect(plain).toHaveLength(javaPeers ? 2 : 0);
  }
});

test("rule 6: while Java holds, the first in line listens to its channel, and no waiter behind it does", async () => {
  const scene = new Scene();
  scene.javaTakes();
  const first = scene.client(rare);
  const second = scene.client(rare);
  const { granted } = await scene.queue(first);
  await scene.queue(second);
  expect(first.line.listensTo(javaChannel)).toBe(true);
  expect(second.line.listensTo(javaChannel)).toBe(false);
  const beats = scene.count("mutex-heartbeat");
  scene.redis.space.del(lockName);
  scene.redis.onPublish(javaChannel, "0");
  const freedMs = scene.runtime.nowMs();
  await scene.settle(granted);
  expect(scene.runtime.nowMs() - freedMs).toBeLessThan(20);
  expect(scene.count("mutex-heartbeat")).toBe(beats + 1);
  expect(first.line.listensTo(javaChannel)).toBe(false);
});

test("rule 7: a dead waiter of ours at the head of a fair queue costs the next of ours an alive window, not Redisson's 300 s", async () => {
  const scene = new Scene();
  const fair = (client: SimulatedClient): Promise<LockHandle> => client.fairMutex(lockName).acquire();
  const queued = (): number => scene.redis.now.list(fairKeys(lockName).queue).length;
  const holder = await scene.settle(fair(scene.client()));
  const dead = scene.client();
  void fair(dead);
  while (queued() < 1) await scene.runtime.step();
  const waiting = fair(scene.client());
  while (queued() < 2) await scene.runtime.step();
  dead.crash();
  const crashedMs = scene.runtime.nowMs();
  await scene.settle(holder.release());
  await scene.settle(waiting);
  // The sum: the alive window after the dead waiter's last heartbeat, and one heartbeat period of the next waiter.
  expect(scene.runtime.nowMs() - crashedMs).toBeLessThan(3_500 + 1_100);
});

test("rule 7: a live waiter of ours keeps its place in a fair queue, however many waits Java's grants take off its deadline", async () => {
  const scene = new Scene();
  const { queue, deadlines } = fairKeys(lockName);
  scene.javaTakes();
  const waiter = scene.client();
  const waiting = waiter.fairMutex(lockName).acquire();
  while (scene.redis.now.list(queue).length < 1) await scene.runtime.step();
  const [owner] = scene.redis.now.list(queue);
  for (let each = 0; each < 4; each++) {
    const score = scene.redis.now.zset(deadlines).get(owner as string) as number;
    scene.redis.now.score(deadlines, owner as string, score - 300_000);
    await scene.runtime.advance(1_100);
    expect(scene.redis.now.list(queue)).toEqual([owner]);
    // The deadline is raised again, so that Java leaves the waiter in place.
    expect(scene.redis.now.zset(deadlines).get(owner as string)).toBeGreaterThan(scene.redis.now.nowMs);
  }
  scene.redis.now.del(lockName);
  scene.redis.onPublish(redissonChannels.fairWaiter(lockName, owner as string), "0");
  const freedMs = scene.runtime.nowMs();
  await scene.settle(waiting);
  expect(scene.runtime.nowMs() - freedMs).toBeLessThan(20);
});
