// A job that runs once in a fleet of replicas, although each replica starts it by its own clock.
//
//   REDIS_URL=redis://127.0.0.1:6379 node job-once-per-fleet.mjs

/** @import { LockProvider } from "@holdfast/redis-recipes" */
import { setTimeout as sleep } from "node:timers/promises";
import { redisLocks } from "@holdfast/redis-recipes";

/**
 * The scheduler of each replica calls this at three o'clock. Resolves to `true` if this replica has run the job.
 *
 * @param {LockProvider} locks
 * @param {(signal: AbortSignal) => Promise<void>} job
 */
export async function runNightly(locks, job) {
  // The first replica may be done before the last one asks. So the lock stays taken for a minute after its grant. A minute is
  // longer than the clocks differ, and shorter than the time between two runs.
  const made = await locks
    .mutex("nightly-report")
    .tryWithLock({ holdAtLeastMs: 60_000 }, async ({ lost }) => {
      await job(lost); // aborts when the lock is lost: stop then
      return true;
    });
  return made !== null; // null: another replica runs the job, or has just run it
}

// Three replicas, whose clocks differ by 120 ms. The job takes 30 ms.
const url = process.env.REDIS_URL ?? "redis://127.0.0.1:6379";
const replicas = [0, 120, 240].map((lateMs) => ({ lateMs, locks: redisLocks({ url }) }));
await Promise.all(replicas.map(({ locks }) => locks.ready()));
const ran = await Promise.all(
  replicas.map(async ({ lateMs, locks }) => {
    await sleep(lateMs);
    return runNightly(locks, () => sleep(30));
  }),
);
for (const [i, { lateMs }] of replicas.entries())
  console.log(
    `the replica that is ${lateMs} ms late ${ran[i] ? "has run the job" : "has left it to another one"}`,
  );
// close() frees the lock at once. So if a replica is shut down within the minute, a later one runs the job again.
await Promise.all(replicas.map(({ locks }) => locks.close()));
