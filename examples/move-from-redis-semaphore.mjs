// From redis-semaphore to holdfast without a stop of the service. Old and new locks do not exclude each other, so for one deployment
// the service takes both.
//
//   REDIS_URL=redis://127.0.0.1:6379 node move-from-redis-semaphore.mjs

/** @import { LockHandle, LockProvider } from "@holdfast/redis-recipes" */
import { setTimeout as sleep } from "node:timers/promises";
import { redisLocks } from "@holdfast/redis-recipes";
import { Redis } from "ioredis";
import { Mutex } from "redis-semaphore";

/**
 * Deployment 1: takes the old lock, then the new one. It excludes replicas that take the old lock alone, and replicas that take the
 * new one alone. Every replica takes them in this order, so that no two replicas wait for each other.
 *
 * @template T
 * @param {{ client: Redis, locks: LockProvider }} how
 * @param {string} name redis-semaphore writes `mutex:` in front of it, so that both locks may have one name
 * @param {(lock: LockHandle, signal: AbortSignal) => Promise<T>} body
 */
export async function withBothLocks({ client, locks }, name, body) {
  const lost = new AbortController();
  const old = new Mutex(client, name, {
    lockTimeout: 30_000,
    acquireTimeout: 10_000,
    onLockLost: (error) => lost.abort(error), // without it the error is an unhandled rejection
  });
  await old.acquire();
  try {
    const value = await locks
      .mutex(name)
      .withLock({ waitMs: 10_000, signal: lost.signal }, (lock, { signal }) => body(lock, signal));
    lost.signal.throwIfAborted(); // the old lock was lost while the body ran
    return value;
  } finally {
    // A failed release must not hide what the body has done. The old lock then ends with its lockTimeout.
    await old.release().catch(console.error);
  }
}

// During the change the fleet has two states: the old release beside deployment 1, and deployment 1 beside deployment 2.
const url = process.env.REDIS_URL ?? "redis://127.0.0.1:6379";
const client = new Redis(url);
const locks = redisLocks({ url });
const name = "orders/42";

let inside = 0;
let overlaps = 0;
const work = async () => {
  inside++;
  if (inside > 1) overlaps++;
  await sleep(5);
  inside--;
};
const oldRelease = async () => {
  const mutex = new Mutex(client, name, { lockTimeout: 30_000, acquireTimeout: 10_000 });
  await mutex.acquire();
  try {
    await work();
  } finally {
    await mutex.release();
  }
};
const deployment1 = () => withBothLocks({ client, locks }, name, work);
const deployment2 = () => locks.mutex(name).withLock({ waitMs: 10_000 }, work);

for (const [what, releases] of /** @type {const} */ ([
  ["the old release beside deployment 1", [oldRelease, deployment1]],
  ["deployment 1 beside deployment 2", [deployment1, deployment2]],
])) {
  const replicas = releases.flatMap((enter) => [enter, enter]);
  await Promise.all(
    replicas.map(async (enter) => {
      for (let times = 0; times < 5; times++) await enter();
    }),
  );
  console.log(`${what}: ${overlaps} overlaps`);
}

await locks.close();
await client.quit();
