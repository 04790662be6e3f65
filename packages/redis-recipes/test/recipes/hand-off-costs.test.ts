import { expect, test } from "vitest";
import { share } from "../../../../e2e/support/share.js";
import { contendedElection, contendedMutex, contendedReadWriteLock } from "./contended.js";
import { lockName, Scene } from "./scene.js";

const rare = { heartbeatMs: 20_000, aliveMs: 70_000 };

for (const { kind, keys, acquire } of [contendedMutex, contendedReadWriteLock, contendedElection]) {
  test(`a hand-off of a ${kind} costs the same commands, however many wait`, async () => {
    const costs = new Map<number, number>();
    for (const waiting of [2, 10, 100, 500]) {
      const scene = new Scene();
      const own = { ...rare, javaPeers: false };
      let handle = await scene.settle(acquire(scene.client(own), {}));
      const client = scene.client(own);
      const line = Array.from({ length: waiting }, () => acquire(client, {}));
      await scene.runtime.advance(50);
      expect(scene.redis.now.list(keys.waiters)).toHaveLength(waiting);
      const all = () => [...scene.redis.executed.values()].reduce((sum, each) => sum + each, 0);
      const before = all();
      for (const granted of line.slice(0, 2)) {
        await scene.settle(handle.release());
        handle = await scene.settle(granted);
        await scene.runtime.advance(20);
      }
      costs.set(waiting, (all() - before) / 2);
      // The other grants are not awaited, because the simulated world stops here.
      for (const granted of line.slice(2)) granted.catch(() => {});
    }
    // The commands are a release and the new holder's first renewal.
    expect([...costs.values()]).toEqual([2, 2, 2, 2]);
  });
}

/** The number of holds and of waits in this run. The counted calls do not grow with it. */
const many = share("holds and waits of one client", 2_000, 10_000);

test("thousands of holds are renewed, and as many waits kept alive, in at most 100 calls of a period", async () => {
  const scene = new Scene();
  const client = scene.client();
  const names = Array.from({ length: many }, (_, each) => `${lockName}-${each}`);
  // They are acquired over some seconds. So only the batches can make their renewals come together.
  for (const [each, name] of names.entries()) {
    void client.mutex(name).acquire();
    if (each % 50 === 0) await scene.runtime.advance(20);
  }
  await scene.runtime.advance(100);
  expect(client.provider.holds()).toHaveLength(many);
  await scene.runtime.advance(10_000);
  const renewals = scene.count("renew");
  await scene.runtime.advance(10_000);
  expect(client.provider.holds()).toHaveLength(many);
  expect(scene.count("renew") - renewals).toBeGreaterThanOrEqual(many / 1_000);
  expect(scene.count("renew") - renewals).toBeLessThanOrEqual(100);

  const waiter = scene.client();
  for (const [each, name] of names.entries()) {
    waiter
      .mutex(name)
      .acquire()
      .catch(() => {});
    if (each % 50 === 0) await scene.runtime.advance(20);
  }
  await scene.runtime.advance(2_000);
  const beats = scene.count("mutex-heartbeat");
  await scene.runtime.advance(1_000);
  expect(scene.count("mutex-heartbeat") - beats).toBeGreaterThanOrEqual(many / 200);
  expect(scene.count("mutex-heartbeat") - beats).toBeLessThanOrEqual(100);
}, 1_200_000);
