import type { HoldfastError } from "@holdfast/core";
import { redisLocks } from "@holdfast/redis-recipes";
import { eventually, startRedisReplicaSet } from "@holdfast/test-servers";
import { expect, onTestFinished, test } from "vitest";

test("a hold that the replicas have acknowledged outlives its master: uncertain meanwhile, and confirmed by the next", async () => {
  const set = await startRedisReplicaSet();
  onTestFinished(() => set.stop());
  const sentinels = { sentinels: set.sentinelAddresses, name: set.name };
  const locks = redisLocks({ sentinels, replicas: 2, acks: 1 });
  onTestFinished(async () => {
    await locks.close({ releaseTimeoutMs: 1_000 });
  });
  const changes: string[] = [];
  for (const type of ["uncertain", "recovered", "lost"] as const) {
    locks.events.on(type, () => changes.push(type));
  }
  const name = `failover-${process.pid}`;
  const handle = await locks.mutex(name).acquire();
  await set.failover();
  await eventually(() => changes.length >= 2, { what: "the next master's word", withinMs: 15_000 });
  // The servers close connections once more while they take up their new roles. So the hold may be in doubt again by now, and a
  // question in that moment gets no answer.
  expect(changes.slice(0, 2)).toEqual(["uncertain", "recovered"]);
  await eventually(
    () =>
      handle.confirm().then(
        () => true,
        (error: HoldfastError) => {
          if (!error.retryable) throw error;
          return false;
        },
      ),
    { what: "a confirmation", withinMs: 15_000 },
  );
  expect(await handle.release()).toBe("released");
  expect(changes).not.toContain("lost");
  const again = await locks.mutex(name).acquire();
  expect(again.token).toBeGreaterThan(handle.token as bigint);
});
