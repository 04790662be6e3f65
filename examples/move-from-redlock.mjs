// From redlock to holdfast without a stop of the service. Old and new locks do not exclude each other, so for one deployment the
// service takes both.
//
//   REDIS_URL=redis://127.0.0.1:6379 node move-from-redlock.mjs

/** @import { LockHandle, LockProvider } from "@holdfast/redis-recipes" */
import { setTimeout as sleep } from "node:timers/promises";
import { redisLocks } from "@holdfast/redis-recipes";
import { Redis } from "ioredis";
// @ts-expect-error: redlock 5.0.0-beta.2 has types that its "exports" do not lead to
import Redlock from "redlock";

/**
 * Deployment 1: takes the old lock, then the new one. It excludes replicas that take the old lock alone, and replicas that take the
 * new one alone. Every replica takes them in this order, so that no two replicas wait for each other.
 *
 * The key of redlock and the name of the new lock must differ: they are values of different types in Redis.
 *
 * @template T
 * @param {{ redlock: any, locks: LockProvider }} how
 * @param {{ key: string, name: string }} what
 * @param {(lock: LockHandle, signal: AbortSignal) => Promise<T>} body
 * @returns {Promise<T>}
 */
export async function withBothLocks({ redlock, locks }, { key, name }, body) {
  // using() extends the old lock for as long as the body runs. If an extension fails, its signal aborts:
  // the wait for the new lock ends then, and so does the signal of the body.
  return await redlock.using([key], 10_000, (/** @type {AbortSignal} */ oldSignal) =>
    locks
      .mutex(name)
      .withLock({ waitMs: 10_000, signal: oldSignal }, (lock, { signal }) => body(lock, signal)),
  );
}

// During the change the fleet has two states: the old release beside deployment 1, and deployment 1 beside deployment 2.
const url = process.env.REDIS_URL ?? "redis://127.0.0.1:6379";
const client = new Redis(url);
const locks = redisLocks({ url });
// The default of ten tries is not enough when four replicas want the lock all the time.
const redlock = new Redlock([client], { retryCount: 1_000, retryDelay: 10, retryJitter: 10 });
const [key, name] = ["locks:orders/42", "orders/42"];

let inside = 0;
let overlaps = 0;
const work = async () => {
  inside++;
  if (inside > 1) overlaps++;
  await sleep(5);
  inside--;
};
const oldRelease = async () => {
  const lock = await redlock.acquire([key], 30_000);
  try {
    await work();
  } finally {
    await lock.release();
  }
};
const deployment1 = () => withBothLocks({ redlock, locks }, { key, name }, work);
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
