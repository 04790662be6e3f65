import { eventually } from "@holdfast/test-servers";
import pg from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { type Postgres, startPostgres } from "../../../e2e/support/postgres.js";
import {
  announceStatement,
  FencedOutError,
  fenceStatement,
  type GuardedTable,
  postgresGuards,
  withFence,
  withoutPostgresGuards,
} from "../src/index.js";
import { holder } from "./handles.js";

const orders: GuardedTable = { table: "orders", resource: (row) => `'orders/' || ${row}.id` };
let server: Postgres;
let pool: pg.Pool;

beforeAll(async () => {
  server = await startPostgres();
  pool = new pg.Pool({ connectionString: server.url });
}, 120_000);
afterAll(async () => {
  await pool?.end();
  await server?.stop();
});
beforeEach(async () => {
  await pool.query("drop table if exists orders; drop schema if exists holdfast_fence cascade");
  await pool.query("create table orders (id integer primary key, status text not null)");
  await pool.query("insert into orders values (42, 'new'), (43, 'new')");
  await pool.query(postgresGuards([orders]));
});

async function status(id = 42): Promise<unknown> {
  const { rows } = await pool.query("select status from orders where id = $1", [id]);
  return rows[0]?.status;
}
/** A connection with an open transaction that has this fence. */
async function opened(fence: Parameters<typeof fenceStatement>[0]): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  onTestFinished(() => client.end());
  const { text, values } = fenceStatement(fence);
  await client.query("begin");
  await client.query(text, values);
  return client;
}

const write =
  (to: string, id = 42) =>
  (client: pg.PoolClient) =>
    client.query("update orders set status = $1 where id = $2", [to, id]);

describe("a guarded table of PostgreSQL", () => {
  it("takes the writes of rising tokens, and several of one", async () => {
    await withFence(pool, holder("orders/42", 7n), write("packed"));
    await withFence(pool, holder("orders/42", 7n), write("labelled"));
    await withFence(pool, holder("orders/42", 9n), write("sent"));
    expect(await status()).toBe("sent");
  });

  it.each([
    ["a lower token", holder("orders/42", 6n), 1],
    ["a lower turn of the same token", holder("orders/42", 7n, 1), 1],
    ["a higher token of an earlier epoch", holder("orders/42", 8n), 0],
  ])("refuses %s with FencedOutError, and nothing of its transaction stays", async (_, late, epoch) => {
    await withFence(pool, holder("orders/42", 7n, 2), write("sent"), { epoch: 1 });
    const both = async (client: pg.PoolClient) => {
      await client.query("create table half_done ()");
      await write("packed")(client);
    };
    const refused = withFence(pool, late, both, { epoch });
    await expect(refused).rejects.toBeInstanceOf(FencedOutError);
    const { code, lockName, message } = await refused.catch((error) => error);
    expect([code, lockName]).toEqual(["HF_FENCED_OUT", "orders/42"]);
    expect(message).toMatch(/no longer the newest.*newest: epoch 1, token 7, turn 2/);
    expect(await status()).toBe("sent");
    expect((await pool.query("select to_regclass('half_done') there")).rows).toEqual([{ there: null }]);
  });

  it("keeps all digits of a token", async () => {
    const token = 9_007_199_254_740_993n;
    await withFence(pool, holder("orders/42", token), write("sent"));
    await expect(withFence(pool, holder("orders/42", token - 1n), write("late"))).rejects.toThrow(
      FencedOutError,
    );
  });

  const everyWrite = [
    "insert into orders values (44, 'new')",
    "insert into orders values (42, 'new') on conflict (id) do update set status = 'sent'",
    "update orders set status = 'sent' where id = 42",
    "update orders set id = 45 where id = 43",
    "delete from orders where id = 42",
    "truncate orders",
    "merge into orders using (values (42)) as given(id) on orders.id = given.id when matched then delete",
    "with gone as (delete from orders where id = 42 returning id) select * from gone",
  ];
  it.each(everyWrite)("refuses without a fence, and with that of another row: %s", async (sql) => {
    await expect(pool.query(sql)).rejects.toMatchObject({ code: "HF001" });
    await expect(withFence(pool, holder("orders/43", 99n), (client) => client.query(sql))).rejects.toThrow(
      /no token/,
    );
    expect((await pool.query("select id, status from orders order by id")).rows).toEqual([
      { id: 42, status: "new" },
      { id: 43, status: "new" },
    ]);
  });

  it("takes one transaction with the fences of several locks, by the lock's name or by another one", async () => {
    const both = [holder("orders/42", 5n), { resource: "orders/43", handle: holder("any", 6n) }];
    await withFence(pool, both, (client) => client.query("update orders set status = 'sent'"));
    expect([await status(), await status(43)]).toEqual(["sent", "sent"]);
  });

  it("holds for one transaction: the next one on the same connection has no fence", async () => {
    const single = new pg.Pool({ connectionString: server.url, max: 1 });
    await withFence(single, holder("orders/42", 7n), write("sent"));
    await expect(single.query("update orders set status = 'late'")).rejects.toMatchObject({ code: "HF001" });
    await single.end();
  });

  it("lets a later holder wait for the open transaction of an earlier one, whatever row of the resource each writes, and refuses what comes after it", async () => {
    await pool.query(postgresGuards([{ table: "orders", resource: () => "'all'" }]));
    // This token is stored beforehand, so that the transaction below does not change the stored token.
    await withFence(pool, holder("all", 7n), write("new"));
    const early = await opened(holder("all", 7n));
    await early.query("update orders set status = 'packed' where id = 42");
    let seen: unknown;
    const waiting = "select count(*)::int waiting from pg_stat_activity where wait_event_type = 'Lock'";
    const later = withFence(pool, holder("all", 8n), async (client: pg.PoolClient) => {
      await write("sent", 43)(client);
      seen = (await client.query("select status from orders where id = 42")).rows[0].status;
    });
    await eventually(async () => seen !== undefined || (await pool.query(waiting)).rows[0].waiting === 1, {
      what: "the later holder to wait",
    });
    expect(seen).toBeUndefined();
    await early.query("commit");
    await later;
    expect(seen).toBe("packed");
    await expect(withFence(pool, holder("all", 7n), write("late"))).rejects.toThrow(FencedOutError);
  });

  it("refuses an earlier holder from the later one's fence on, so that what that one has read stays as it is", async () => {
    await withFence(pool, holder("orders/42", 7n), write("packed"));
    let read: unknown;
    let late: unknown;
    await withFence(pool, holder("orders/42", 8n), async (client: pg.PoolClient) => {
      read = (await client.query("select status from orders where id = 42")).rows[0].status;
      late = await withFence(pool, holder("orders/42", 7n), write("late")).catch((error) => error);
      await client.query("update orders set status = status || ', sent' where id = 42");
    });
    expect(read).toBe("packed");
    expect(late).toBeInstanceOf(FencedOutError);
    expect(await status()).toBe("packed, sent");
  });

  it("refuses an earlier holder's write while the later one has an open transaction, so that none of both waits for the other's rows", async () => {
    await pool.query(postgresGuards([{ table: "orders", resource: () => "'all'" }]));
    await withFence(pool, holder("all", 7n), write("packed"));
    const early = await opened(holder("all", 7n));
    // A wait for the later holder would be this error and not a refusal.
    await early.query("set local lock_timeout = 2000");
    await withFence(pool, holder("all", 8n), async (client: pg.PoolClient) => {
      await write("sent")(client);
      await expect(early.query("update orders set status = 'late' where id = 43")).rejects.toMatchObject({
        code: "HF001",
      });
      await early.query("rollback");
      await write("sent", 43)(client);
    });
    expect([await status(), await status(43)]).toEqual(["sent", "sent"]);
  });

  it("rejects when a statement has failed and the body fulfils all the same, since nothing was committed", async () => {
    await withFence(pool, holder("orders/42", 7n), write("sent"));
    const swallowed = withFence(pool, holder("orders/42", 6n), (client: pg.PoolClient) =>
      write("late")(client).catch(() => "written"),
    );
    await expect(swallowed).rejects.toThrow(/nothing was written/);
    await withFence(pool, holder("orders/42", 8n), async (client: pg.PoolClient) => {
      await client.query("savepoint before");
      await client.query("select 1/0").catch(() => client.query("rollback to savepoint before"));
      await write("again")(client);
    });
    expect(await status()).toBe("again");
  });

  it("takes transactions of one holder side by side", async () => {
    await withFence(pool, holder("orders/42", 7n), write("packed"));
    await withFence(pool, holder("orders/42", 7n), async () => {
      await withFence(pool, { resource: "orders/42", handle: holder("orders/42", 7n) }, write("sent"));
    });
    expect(await status()).toBe("sent");
  });

  it("refuses an earlier holder's writes once announceStatement was sent, before the later one has written", async () => {
    await withFence(pool, holder("orders/42", 7n), write("packed"));
    const announced = announceStatement(holder("orders/42", 8n));
    await pool.query(announced.text, announced.values);
    await expect(withFence(pool, holder("orders/42", 7n), write("late"))).rejects.toThrow(FencedOutError);
    expect(await status()).toBe("packed");
    // The announcement must wait for the open transaction of an earlier holder, as a later holder's write does.
    const earlier = await pool.connect();
    await earlier.query("begin");
    const fence = fenceStatement(holder("orders/42", 8n));
    await earlier.query(fence.text, fence.values);
    await earlier.query("update orders set status = 'sent' where id = 42");
    const later = announceStatement(holder("orders/42", 9n));
    let seen = false;
    const announcing = pool.query(later.text, later.values).then(() => (seen = true));
    const waiting = "select count(*)::int waiting from pg_stat_activity where wait_event_type = 'Lock'";
    await eventually(async () => seen || (await pool.query(waiting)).rows[0].waiting === 1, {
      what: "the announcement to wait",
    });
    expect(seen).toBe(false);
    await earlier.query("commit");
    earlier.release();
    await announcing;
    expect(await status()).toBe("sent");
  });

  it("lets a later holder of several locks wait for an earlier one that has written one of them, and refuses what that one writes of the others", async () => {
    const both = (token: bigint) => [holder("orders/42", token), holder("orders/43", token)];
    // These tokens are stored beforehand, so that the transaction below does not change the stored tokens.
    await withFence(pool, both(7n), (client) => client.query("update orders set status = 'packed'"));
    const early = await opened(both(7n));
    await early.query("update orders set status = 'early' where id = 43");
    const later = withFence(pool, both(8n), (client) => client.query("update orders set status = 'later'"));
    const outcome = later.then(
      () => "fulfilled",
      (error: unknown) => error,
    );
    const waiting = "select count(*)::int waiting from pg_stat_activity where wait_event_type = 'Lock'";
    await eventually(async () => (await pool.query(waiting)).rows[0].waiting === 1, {
      what: "the later holder to wait",
    });
    const late = early.query("update orders set status = 'late' where id = 42");
    await expect(late).rejects.toMatchObject({ code: "HF001" });
    await early.query("rollback");
    expect(await outcome).toBe("fulfilled");
    expect([await status(), await status(43)]).toEqual(["later", "later"]);
  });

  it("only notes what it would refuse while it checks, and is off when it was taken off", async () => {
    await pool.query(postgresGuards([{ ...orders, mode: "check" }]));
    await pool.query("update orders set status = 'without' where id = 42");
    const noted = 'select "table", operation, resource, given from holdfast_fence.refusals';
    expect((await pool.query(noted)).rows).toEqual([
      { table: "orders", operation: "UPDATE", resource: "orders/42", given: null },
    ]);
    await pool.query("truncate orders");
    expect((await pool.query(noted)).rows).toContainEqual({
      ...{ table: "orders", operation: "TRUNCATE", resource: "", given: null },
    });
    await pool.query("insert into orders values (42, 'new')");
    await pool.query(postgresGuards([orders]));
    await expect(pool.query("update orders set status = 'again'")).rejects.toMatchObject({ code: "HF001" });
    await pool.query(withoutPostgresGuards([orders]));
    await pool.query("update orders set status = 'free'");
    await pool.query("truncate orders");
  });

  it("needs no rights of its writers beyond those on the table", async () => {
    await pool.query(
      "drop role if exists writer; create role writer login; grant select, update on orders to writer",
    );
    const url = new URL(server.url);
    url.username = "writer";
    const theirs = new pg.Pool({ connectionString: url.href });
    await withFence(theirs, holder("orders/42", 7n), write("sent"));
    await expect(withFence(theirs, holder("orders/42", 6n), write("late"))).rejects.toThrow(FencedOutError);
    await expect(theirs.query("update holdfast_fence.tokens set token = 0")).rejects.toThrow(
      /permission denied/,
    );
    await theirs.end();
    await pool.query("drop owned by writer; drop role writer");
  });

  it("takes any name of a schema and a table, and refuses names and modes that are none", async () => {
    await pool.query(
      `create schema if not exists "my ""shop"""; create table if not exists "my ""shop"""."Orders" (n text)`,
    );
    const odd: GuardedTable = { table: [`my "shop"`, "Orders"], resource: () => "'all of it''s rows'" };
    await pool.query(postgresGuards([odd]));
    const insert = `insert into "my ""shop"""."Orders" values ('a')`;
    await expect(pool.query(insert)).rejects.toMatchObject({ code: "HF001" });
    await withFence(pool, holder("all of it's rows", 1n), (client) => client.query(insert));
    const late = withFence(pool, holder("all of it's rows", 0n), (client) => client.query(insert));
    await expect(late).rejects.toMatchObject({ code: "HF_FENCED_OUT", lockName: "all of it's rows" });
    expect(() => postgresGuards([{ ...orders, table: "" }])).toThrow(/name/);
    expect(() => postgresGuards([{ ...orders, mode: "warn" as never }])).toThrow(/mode/);
  });

  it("can be guarded again where its name has as many bytes as a name may have, in characters of three bytes", async () => {
    const table = "表".repeat(21);
    await pool.query(`drop table if exists "${table}"; create table "${table}" (n text)`);
    for (const mode of ["check", "enforce"] as const)
      await pool.query(postgresGuards([{ table, resource: (row) => `${row}.n`, mode }]));
    const insert = `insert into "${table}" values ('a')`;
    await expect(pool.query(insert)).rejects.toMatchObject({ code: "HF001" });
    await withFence(pool, holder("a", 1n), (client) => client.query(insert));
    await pool.query(withoutPostgresGuards([{ table }]));
    await pool.query(insert);
    expect((await pool.query(`select n from "${table}"`)).rows).toEqual([{ n: "a" }, { n: "a" }]);
  });

  it("has a rule and a mode of its own, whatever table of the same name is guarded in another schema, and leaves nothing when it is taken off", async () => {
    await pool.query("drop schema if exists staging cascade; create schema staging");
    await pool.query("create table staging.orders (id integer primary key, status text not null)");
    const client = await pool.connect();
    await client.query("set search_path = staging");
    await client.query(postgresGuards([{ ...orders, mode: "check" }]));
    await client.query("insert into orders values (42, 'new')");
    await client.query(withoutPostgresGuards([orders]));
    client.release(true);
    await expect(pool.query("update orders set status = 'late'")).rejects.toMatchObject({ code: "HF001" });
    const functions = `select proname from pg_proc where pronamespace = 'holdfast_fence'::regnamespace and proname like 'guard %'`;
    expect((await pool.query(functions)).rows).toHaveLength(1);
    await pool.query(withoutPostgresGuards([orders]));
    expect((await pool.query(functions)).rows).toEqual([]);
    await pool.query("update orders set status = 'free'; truncate orders");
  });

  it("guards partitions against truncate, and the rows of tables that inherit", async () => {
    await pool.query(`drop table if exists days, things cascade;
      create table days (id integer, at integer) partition by range (at);
      create table days_1 partition of days for values from (0) to (10);
      create table things (id integer, status text);
      create table odd_things () inherits (things);
      insert into days values (1, 1); insert into odd_things values (1, 'new')`);
    const rule = (row: string) => `'days/' || ${row}.id`;
    for (let times = 0; times < 2; times++)
      await pool.query(
        postgresGuards([
          { table: "days", resource: rule },
          { table: "things", resource: rule },
        ]),
      );
    for (const sql of [
      "truncate days_1",
      "delete from days",
      "update things set status = 'late'",
      "truncate odd_things",
    ])
      await expect(pool.query(sql)).rejects.toMatchObject({ code: "HF001" });
    await pool.query(withoutPostgresGuards([{ table: "days" }, { table: "things" }]));
    await pool.query("truncate days_1, odd_things");
  });

  it("is never off while it is put on again, also where each statement is a transaction of its own", async () => {
    const open = await pool.connect();
    const { text, values } = fenceStatement(holder("orders/42", 7n));
    await open.query("begin");
    await open.query(text, values);
    await write("packed")(open);
    const statements = postgresGuards([orders]).split(/(?=^do )/m);
    expect(statements).toHaveLength(2);
    const again = pool.query(statements[1] as string);
    const waiting = "select count(*)::int waiting from pg_stat_activity where wait_event_type = 'Lock'";
    const waiters = async () => (await pool.query(waiting)).rows[0].waiting;
    await eventually(async () => (await waiters()) === 1, { what: "the migration to wait" });
    const unguarded = pool.query("update orders set status = 'late' where id = 43").catch(({ code }) => code);
    await eventually(async () => (await waiters()) === 2, { what: "the writer to wait" });
    await open.query("commit");
    open.release();
    await again;
    expect(await unguarded).toBe("HF001");
  });

  it("compares the newer of two handles for one resource", async () => {
    await withFence(pool, holder("orders/42", 8n), write("packed"));
    for (const both of [
      [9n, 5n],
      [5n, 10n],
    ] as const)
      await withFence(
        pool,
        both.map((token) => holder("orders/42", token)),
        write("sent"),
      );
    expect(await status()).toBe("sent");
  });

  it("says of a truncate what its guard says, which compares no tokens", async () => {
    const refused = withFence(pool, holder("orders/42", 7n), (client) => client.query("truncate orders"));
    await expect(refused).rejects.toMatchObject({
      code: "HF_FENCED_OUT",
      message: "truncate of orders has no token of its rows",
    });
  });

  it("passes other errors on as they are, and uses no connection again that could not be rolled back", async () => {
    await expect(
      withFence(pool, holder("orders/42", 7n), (client) => client.query("select 1/0")),
    ).rejects.toMatchObject({
      code: "22012",
    });
    const ended = withFence(pool, holder("orders/42", 7n), async (client) => {
      await client.query("select pg_terminate_backend(pg_backend_pid())");
    });
    await expect(ended).rejects.toThrow(/terminat/);
    await withFence(pool, holder("orders/42", 7n), write("sent"));
    expect(await status()).toBe("sent");
  });
});
