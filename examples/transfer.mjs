// A transfer between two accounts, which needs the locks of both. Transfers in opposite directions cannot deadlock.
//
//   REDIS_URL=redis://127.0.0.1:6379 node transfer.mjs

/** @import { LockProvider } from "@holdfast/redis-recipes" */
import { setTimeout as sleep } from "node:timers/promises";
import { multiLock } from "@holdfast/multi-lock";
import { redisLocks } from "@holdfast/redis-recipes";

/**
 * @param {LockProvider} locks
 * @param {Map<string, number>} balances stands for your database
 * @param {{ from: string, to: string, amount: number }} order
 */
export async function transfer(locks, balances, { from, to, amount }) {
  // The two locks are taken in the order of their names, whatever their order here. The braces put both into one slot of a Redis
  // cluster, so that taking two free locks costs one round trip there too.
  const both = multiLock([locks.mutex(`{accounts}/${from}`), locks.mutex(`{accounts}/${to}`)]);
  await both.withLock({ waitMs: 5_000 }, async (held, { signal }) => {
    const left = (balances.get(from) ?? 0) - amount;
    if (left < 0) throw new Error(`account ${from} has too little for ${amount}`);
    const right = (balances.get(to) ?? 0) + amount;
    await sleep(10, undefined, { signal }); // another transfer would read old balances here
    held.assertHeld(); // throws when the locks cannot be relied on any more
    balances.set(from, left);
    balances.set(to, right);
  });
}

// Two replicas move money in opposite directions at once.
const url = process.env.REDIS_URL ?? "redis://127.0.0.1:6379";
const [here, there] = [redisLocks({ url }), redisLocks({ url })];
const balances = new Map([
  ["alice", 100],
  ["bob", 100],
]);
await Promise.all(
  [1, 2, 3, 4, 5].flatMap(() => [
    transfer(here, balances, { from: "alice", to: "bob", amount: 7 }),
    transfer(there, balances, { from: "bob", to: "alice", amount: 5 }),
  ]),
);
console.log(`alice has ${balances.get("alice")}, bob has ${balances.get("bob")}`);
await Promise.all([here.close(), there.close()]);
