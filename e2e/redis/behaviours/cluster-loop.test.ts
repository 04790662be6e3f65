import { HoldfastError, type LockHandle } from "@holdfast/core";
import { type RedisLocks, redisLocks } from "@holdfast/redis-recipes";
import { type RedisCluster, startRedisCluster } from "@holdfast/test-servers";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { share } from "../../support/share.js";

let cluster: RedisCluster;

beforeAll(async () => {
  cluster = await startRedisCluster();
});
afterAll(() => cluster?.stop());

const names = ["cluster-a", "cluster-b", "cluster-c", "cluster-d"];

async function client(): Promise<RedisLocks> {
  const locks = redisLocks({
    cluster: { nodes: cluster.addresses },
    leaseMs: 6_000,
    heartbeatMs: 200,
    aliveMs: 700,
  });
  onTestFinished(async () => {
    await locks.close({ releaseTimeoutMs: 1_000 });
  });
  await locks.ready();
  return locks;
}

interface Tally {
  readonly name: string;
  holders: number;
  most: number;
  grants: number;
  failures: number;
}

/**
 * Takes and releases the lock for as long as `goOn` says so. It counts each failed turn and the most holders at once, which
 * must never be 2.
 */
async function loop(locks: RedisLocks, tally: Tally, goOn: () => boolean): Promise<void> {
  while (goOn()) {
    let handle: LockHandle;
    try {
      handle = await locks.mutex(tally.name).acquire({ waitMs: 15_000 });
    } catch (error) {
      // An outage may cause retryable errors only.
      if (!(error instanceof HoldfastError && error.retryable)) throw error;
      tally.failures++;
      continue;
    }
    tally.most = Math.max(tally.most, ++tally.holders);
    await new Promise(setImmediate);
    tally.holders--;
    tally.grants++;
    await handle.release();
  }
}

it("18: lock and unlock work in a loop on several masters, and go on when one is replaced meanwhile", async () => {
  const atLeast = share("grants of each name before and after the failover", 50, 500);
  const masters = await Promise.all(names.map((name) => cluster.nodeOfKey(name)));
  expect(new Set(masters).size).toBeGreaterThan(1);
  const tallies = names.map((name): Tally => ({ name, holders: 0, most: 0, grants: 0, failures: 0 }));
  const all = await Promise.all([client(), client()]);
  let over = false;
  const loops = Promise.all(all.flatMap((locks) => tallies.map((tally) => loop(locks, tally, () => !over))));
  const untilGranted = async (least: readonly number[]) =>
    await expect
      .poll(() => tallies.filter(({ grants }, index) => grants < (least[index] as number)), {
        timeout: 30_000,
      })
      .toEqual([]);
  try {
    await untilGranted(names.map(() => atLeast));
    const [first] = masters;
    if (first === undefined) throw new Error("no master");
    const replaced = await cluster.failover(first);
    const next = await cluster.nodeOfKey(names[0] as string);
    expect([next.port, next === first]).toEqual([replaced.port, false]);
    await untilGranted(tallies.map(({ grants }) => grants + atLeast));
  } finally {
    over = true;
    await loops;
  }
  for (const { name, grants, failures } of tallies)
    console.log(`${name}: ${grants} grants, ${failures} failures`);
  expect(tallies.map(({ most }) => most)).toEqual(names.map(() => 1));
});
