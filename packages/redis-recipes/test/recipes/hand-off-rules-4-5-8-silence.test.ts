import { expect, test } from "vitest";
import { lockName, Scene } from "./scene.js";

const rare = { heartbeatMs: 20_000, aliveMs: 70_000 };

test("rule 4: a dead waiter in the line is passed over, and one made holder costs a claim lease", async () => {
  const scene = new Scene();
  const first = await scene.acquire(scene.client());
  const dead = scene.client();
  await scene.queue(dead);
  const { granted } = await scene.queue(scene.client());
  dead.crash();
  const releasedMs = scene.runtime.nowMs();
  await scene.settle(first.release());
  const second = await scene.settle(granted);
  const tookMs = scene.runtime.nowMs() - releasedMs;
  expect(tookMs).toBeGreaterThan(2_900);
  expect(tookMs).toBeLessThan(3_100);

  const dead2 = scene.client();
  await scene.queue(dead2);
  const last = await scene.queue(scene.client());
  dead2.crash();
  await scene.runtime.advance(3_600);
  const againMs = scene.runtime.nowMs();
  await scene.settle(second.release());
  await scene.settle(last.granted);
  expect(scene.runtime.nowMs() - againMs).toBeLessThan(20);
});

test("rule 4: a dead waiter in front of a free lock costs little more than a minute, though the server's clock was set back by an hour", async () => {
  const scene = new Scene();
  await scene.acquire(scene.client());
  const dead = scene.client();
  await scene.queue(dead);
  const { granted } = await scene.queue(scene.client());
  dead.crash();
  scene.redis.offsetMs -= 3_600_000;
  scene.redis.now.del(lockName);
  await scene.settle(granted, 75_000);
});

test("rule 5: the first in line finds a lapsed hold at its time, long before its heartbeat", async () => {
  const scene = new Scene();
  const dying = scene.client({ leaseMs: 4_000 });
  await scene.acquire(dying);
  const { granted } = await scene.queue(scene.client(rare));
  dying.crash();
  const crashedMs = scene.runtime.nowMs();
  await scene.settle(granted);
  expect(scene.runtime.nowMs() - crashedMs).toBeLessThan(4_050);
});

test("rule 8: after a reconnect of either connection every wait and every hold asks at once", async () => {
  const scene = new Scene();
  const client = scene.client(rare);
  await scene.acquire(client);
  await scene.queue(client);
  for (const cut of [() => client.line.cut(), () => client.line.cutSubscriptions()]) {
    const before = { beats: scene.count("mutex-heartbeat"), renewals: scene.count("renew") };
    cut();
    client.line.mend();
    await scene.runtime.advance(20);
    expect(scene.count("mutex-heartbeat")).toBe(before.beats + 1);
    expect(scene.count("renew")).toBe(before.renewals + 1);
  }
});

test("rule 8: a hold is uncertain from the moment that contact breaks, and certain once a renewal was answered", async () => {
  const scene = new Scene();
  const client = scene.client();
  const handle = await scene.acquire(client);
  client.line.cut();
  await scene.runtime.advance(1);
  expect(handle.state).toBe("uncertain");
  handle.assertHeld();
  client.line.mend();
  await scene.runtime.advance(1);
  expect(handle.state).toBe("uncertain");
  await scene.runtime.advance(20);
  expect(handle.state).toBe("held");
});
