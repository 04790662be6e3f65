// A row in PostgreSQL that refuses a writer whose lock is over. ZooKeeper's tokens keep rising across restarts and elections.
//
//   ZOOKEEPER_CONNECT=127.0.0.1:2181 DATABASE_URL=postgres://127.0.0.1/test node fenced-postgresql.mjs

/** @import { FencingToken } from "@holdfast/zk-recipes" */
import { zookeeperLocks } from "@holdfast/zk-recipes";
import pg from "pg";

/**
 * Resolves to `false` if a later holder of the lock has written already: then this one must not write.
 *
 * @param {pg.Pool} database
 * @param {{ id: number, status: string, fence: FencingToken }} change
 */
export async function writeOrder(database, { id, status, fence }) {
  const { rowCount } = await database.query(
    // "<=" and not "<": one holder may write several times.
    "update orders set status = $2, fence = $3 where id = $1 and fence <= $3",
    [id, status, fence.toString()], // a decimal string: a token is a bigint
  );
  return rowCount === 1;
}

const locks = zookeeperLocks({ connect: process.env.ZOOKEEPER_CONNECT ?? "127.0.0.1:2181" });
const database = new pg.Pool({ connectionString: process.env.DATABASE_URL });
await database.query(
  "create table if not exists orders (id integer primary key, status text not null, fence bigint not null default 0)",
);
await database.query(
  "insert into orders values (42, 'new', 0) on conflict (id) do update set status = 'new', fence = 0",
);

// In real life the first holder writes, then stops for so long that another client gets the lock. Here it releases the lock
// instead.
const first = await locks.mutex("orders/42").acquire({ waitMs: 2_000 });
const late = first.token;
console.log(
  `the first holder may write: ${await writeOrder(database, { id: 42, status: "packed", fence: late })}`,
);
await first.release();

await locks.mutex("orders/42").withLock({ waitMs: 2_000 }, async ({ token: fence }) => {
  console.log(
    `the second holder may write: ${await writeOrder(database, { id: 42, status: "sent", fence })}`,
  );
});

// If a write of the first holder arrived now, it would undo the second holder's write.
console.log(
  `the first may write again: ${await writeOrder(database, { id: 42, status: "packed", fence: late })}`,
);
const { rows } = await database.query("select status from orders where id = 42");
console.log(`the order is ${rows[0].status}`);

await database.end();
await locks.close();
