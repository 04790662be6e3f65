import { type RedisLocks, type RedisLocksOptions, redisLocks } from "@holdfast/redis-recipes";
import { eventually, type RedisNode } from "@holdfast/test-servers";
import { onTestFinished } from "vitest";
import type { CollectorEvent, LockCollector, ObservedLock } from "../../src/index.js";
import { redisCollector } from "../../src/redis/index.js";
import type { RedisCollectorOptions } from "../../src/redis/options.js";

export function collect(options: RedisCollectorOptions): {
  collector: LockCollector;
  events: CollectorEvent[];
} {
  const collector = redisCollector({ rowsEveryMs: 100, channelsEveryMs: 200, ...options });
  const events: CollectorEvent[] = [];
  collector.onEvent((event) => events.push(event));
  onTestFinished(() => collector.close());
  return { collector, events };
}

export async function lockOn(
  node: RedisNode,
  options: Omit<RedisLocksOptions, "url"> = {},
): Promise<RedisLocks> {
  const locks = redisLocks({ url: node.url, heartbeatMs: 200, ...options });
  onTestFinished(async () => {
    await locks.close({ releaseTimeoutMs: 200 });
  });
  await locks.ready();
  return locks;
}

/** Waits until the collector shows the lock as wanted. */
export function shown(
  collector: LockCollector,
  key: string,
  wanted: (lock: ObservedLock) => boolean = () => true,
  withinMs = 10_000,
): Promise<ObservedLock> {
  return eventually(
    () => {
      const lock = collector.get(key);
      return lock !== undefined && wanted(lock) ? lock : undefined;
    },
    {
      what: `the collector to show ${key} as wanted`,
      withinMs,
      detail: () => JSON.stringify(collector.get(key)),
    },
  );
}
