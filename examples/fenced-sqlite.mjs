// A row in SQLite that refuses a writer whose lock is over. The statement is the same for node:sqlite (Node.js 22.13 or newer)
// and better-sqlite3.
//
//   REDIS_URL=redis://127.0.0.1:6379 node fenced-sqlite.mjs

/** @import { FencingToken } from "@holdfast/redis-recipes" */
import { redisLocks } from "@holdfast/redis-recipes";
import sqlite from "node-sqlite3-wasm";

/**
 * Returns `false` if a later holder of the lock has written already: then this one must not write.
 *
 * @param {sqlite.Database} database
 * @param {{ id: number, status: string, fence: FencingToken }} change
 */
export function writeOrder(database, { id, status, fence }) {
  const { changes } = database.run(
    "update orders set status = :status, fence = :fence where id = :id and fence <= :fence",
    { ":id": id, ":status": status, ":fence": fence }, // a token is a bigint, which SQLite takes as it is
  );
  return changes === 1;
}

const locks = redisLocks({ url: process.env.REDIS_URL ?? "redis://127.0.0.1:6379" });
const database = new sqlite.Database(":memory:");
database.run(
  "create table orders (id integer primary key, status text not null, fence integer not null default 0)",
);
database.run("insert into orders values (42, 'new', 0)");

// In real life the first holder writes, then stops for so long that another client gets the lock. Here it releases the lock
// instead.
const first = await locks.mutex("orders/42").acquire({ waitMs: 2_000 });
const late = first.token;
console.log(`the first holder may write: ${writeOrder(database, { id: 42, status: "packed", fence: late })}`);
await first.release();

await locks.mutex("orders/42").withLock({ waitMs: 2_000 }, ({ token: fence }) => {
  console.log(`the second holder may write: ${writeOrder(database, { id: 42, status: "sent", fence })}`);
});

// If a write of the first holder arrived now, it would undo the second holder's write.
console.log(`the first may write again: ${writeOrder(database, { id: 42, status: "packed", fence: late })}`);
console.log(`the order is ${database.get("select status from orders where id = 42")?.status}`);

database.close();
await locks.close();
