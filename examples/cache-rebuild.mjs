// A cached value that many clients read. One client at a time rebuilds it, and no client reads it meanwhile.
//
//   REDIS_URL=redis://127.0.0.1:6379 node cache-rebuild.mjs

/** @import { LockProvider } from "@holdfast/redis-recipes" */
import { setTimeout as sleep } from "node:timers/promises";
import { redisLocks } from "@holdfast/redis-recipes";

/**
 * Runs `body` with the present price list. If there is none, rebuilds it first.
 *
 * @template T
 * @param {LockProvider} locks
 * @param {Map<string, string>} cache stands for the store that all replicas share
 * @param {(signal: AbortSignal) => Promise<string>} rebuild
 * @param {(list: string) => Promise<T>} body
 */
export async function withPriceList(locks, cache, rebuild, body) {
  const lock = locks.readWriteLock("price-list");

  const read = await lock.read.acquire({ waitMs: 5_000 }); // beside other readers
  try {
    const list = cache.get("price-list");
    if (list !== undefined) return await body(list);
  } finally {
    // Released before the write is asked for: two readers that both wait to write would wait for each other.
    await read.release().catch(console.error);
  }

  const write = await lock.write.acquire({ waitMs: 5_000 }); // alone
  /** @type {import("@holdfast/redis-recipes").LockHandle} */
  let held = write;
  try {
    let list = cache.get("price-list"); // another client may have rebuilt it while this one waited
    if (list === undefined) {
      list = await rebuild(write.lost);
      write.assertHeld(); // another client may have rebuilt the list since, if this one has lost the lock
      cache.set("price-list", list);
    }
    // From here on other readers may enter. No other writer came in between.
    held = await write.downgrade();
    return await body(list);
  } finally {
    await held.release().catch(console.error);
  }
}

// Ten callers in two replicas find the cache empty.
const url = process.env.REDIS_URL ?? "redis://127.0.0.1:6379";
const replicas = [redisLocks({ url }), redisLocks({ url })];
const cache = new Map();
let rebuilds = 0;
const rebuild = async () => {
  rebuilds++;
  await sleep(50);
  return "apples 1.20";
};
const callers = replicas.flatMap((locks) =>
  [1, 2, 3, 4, 5].map(() => withPriceList(locks, cache, rebuild, async (list) => list)),
);
const lists = new Set(await Promise.all(callers));
console.log(`${callers.length} callers, ${rebuilds} rebuild, all read "${[...lists].join('", "')}"`);
await Promise.all(replicas.map((locks) => locks.close()));
