// At most three calls at a time to a partner's API, by all replicas together.
//
//   REDIS_URL=redis://127.0.0.1:6379 node bounded-calls.mjs

/** @import { LockProvider } from "@holdfast/redis-recipes" */
import { setTimeout as sleep } from "node:timers/promises";
import { redisLocks } from "@holdfast/redis-recipes";

/**
 * @template T
 * @param {LockProvider} locks
 * @param {(signal: AbortSignal) => Promise<T>} call
 */
export function callPartner(locks, call) {
  // All replicas must name the same limit: the call is refused if the stored limit differs. If a replica dies, its permits come
  // back when their lease ends.
  const permits = locks.semaphore("partner-api", 3);
  return permits.withPermit({ waitMs: 10_000 }, (_permit, { signal }) => call(signal));
}

// Two replicas make five calls each.
const url = process.env.REDIS_URL ?? "redis://127.0.0.1:6379";
const replicas = [redisLocks({ url }), redisLocks({ url })];
let running = 0;
let most = 0;
const calls = replicas.flatMap((locks) =>
  [1, 2, 3, 4, 5].map(() =>
    callPartner(locks, async (signal) => {
      running++;
      most = Math.max(most, running);
      await sleep(50, undefined, { signal });
      running--;
    }),
  ),
);
await Promise.all(calls);
console.log(`${calls.length} calls, at most ${most} at a time`);
await Promise.all(replicas.map((locks) => locks.close()));
