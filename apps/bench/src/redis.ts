import type { LockHandle, Millis } from "@holdfast/core";
import { type RedisLocks, redisLocks } from "@holdfast/redis-recipes";
import { eventually } from "@holdfast/test-servers";
import { Latencies, type LatencySummary } from "./latencies.js";

export interface RedisOptions {
  /** `redis://host:port` of one server. */
  readonly url: string;
  /** How many times one client acquires and releases a free lock, one after the other. Default 20,000. */
  readonly pairs?: number;
  /** The number of clients that wait for one lock. Default 200. */
  readonly waiters?: number;
  readonly onProgress?: (what: string) => void;
}

export interface RedisReport {
  readonly pairs: number;
  readonly pairsPerSecond: number;
  readonly waiters: number;
  /** The time from when a holder calls release until the next one has its handle. */
  readonly handOffs: LatencySummary;
}

const settleWithinMs: Millis = 120_000;

/** Measures what a lock on Redis costs: pairs of a single client, and hand-offs while many clients wait. */
export async function measureRedis(options: RedisOptions): Promise<RedisReport> {
  const { url, pairs = 20_000, waiters = 200, onProgress = () => {} } = options;
  const name = `bench-${process.pid}`;
  const pairsPerSecond = await runPairs(url, `${name}-pairs`, pairs);
  onProgress(`${pairs} pairs`);
  const handOffs = await runHandOffs(url, `${name}-drain`, waiters, onProgress);
  return { pairs, pairsPerSecond, waiters, handOffs };
}

async function runPairs(url: string, name: string, pairs: number): Promise<number> {
  const locks = redisLocks({ url });
  try {
    await locks.ready();
    const mutex = locks.mutex(name);
    const startedMs = performance.now();
    for (let done = 0; done < pairs; done++) {
      const outcome = await (await mutex.acquire()).release();
      if (outcome !== "released") throw new Error(`pair ${done + 1} of ${pairs}: release() said ${outcome}`);
    }
    return (pairs / (performance.now() - startedMs)) * 1_000;
  } finally {
    await locks.close();
  }
}

async function runHandOffs(
  url: string,
  name: string,
  waiters: number,
  onProgress: (what: string) => void,
): Promise<LatencySummary> {
  const clients: RedisLocks[] = Array.from({ length: waiters + 1 }, () => redisLocks({ url }));
  const latencies = new Latencies();
  try {
    await Promise.all(clients.map((locks) => locks.ready({ waitMs: settleWithinMs })));
    const [first, ...others] = clients as [RedisLocks, ...RedisLocks[]];
    const held = await first.mutex(name).acquire();
    let releasedMs = 0;
    const release = async (handle: LockHandle): Promise<void> => {
      releasedMs = performance.now();
      const outcome = await handle.release();
      if (outcome !== "released") throw new Error(`a holder lost the lock: release() said ${outcome}`);
    };
    const drained = others.map(async (locks) => {
      const handle = await locks.mutex(name).acquire({ waitMs: settleWithinMs });
      latencies.add(performance.now() - releasedMs);
      await release(handle);
    });
    await eventually(async () => (await first.mutex(name).inspect()).pendingTotal === waiters, {
      what: "all waiters in the queue",
      withinMs: settleWithinMs,
    });
    onProgress(`${waiters} clients wait`);
    await release(held);
    await Promise.all(drained);
    return latencies.summary();
  } finally {
    await Promise.all(clients.map((locks) => locks.close()));
  }
}
