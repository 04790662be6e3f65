import { memoryLocks } from "@holdfast/core";
import sqlite from "node-sqlite3-wasm";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FencedOutError, type SqliteTable, sqliteGuards, withSqliteFence } from "../src/index.js";
import { holder } from "./handles.js";

const orders: SqliteTable = { table: "orders", resource: (row) => `'orders/' || ${row}.id` };
let database: InstanceType<typeof sqlite.Database>;

beforeEach(() => {
  database = new sqlite.Database(":memory:");
  database.exec(
    "create table orders (id integer primary key, status text); insert into orders values (42, 'new'), (43, 'new')",
  );
  database.exec(sqliteGuards([orders]));
});
afterEach(() => database.close());

const status = (id = 42): unknown => database.get("select status from orders where id = ?", [id])?.status;
const write =
  (to: string, id = 42) =>
  () =>
    database.exec(`update orders set status = '${to}' where id = ${id}`);

describe("a guarded table of SQLite", () => {
  it("takes the writes of rising tokens, and several of one", () => {
    withSqliteFence(database, holder("orders/42", 7n), write("packed"));
    withSqliteFence(database, holder("orders/42", 7n), write("labelled"));
    expect(withSqliteFence(database, holder("orders/42", 9n), () => "sent")).toBe("sent");
    expect(status()).toBe("labelled");
  });

  it.each([
    ["a lower token", holder("orders/42", 6n)],
    ["a lower turn of the same token", holder("orders/42", 7n, 1)],
  ])("refuses %s, and nothing of its transaction stays", (_, late) => {
    withSqliteFence(database, holder("orders/42", 7n, 2), write("sent"));
    expect(() => withSqliteFence(database, late, write("packed"))).toThrow(FencedOutError);
    expect(status()).toBe("sent");
  });

  it("takes lower tokens of a later epoch, and no higher ones of an earlier", () => {
    withSqliteFence(database, holder("orders/42", 7n), write("sent"));
    withSqliteFence(database, holder("orders/42", 1n), write("restored"), { epoch: 1 });
    expect(() => withSqliteFence(database, holder("orders/42", 8n), write("late"))).toThrow(/later holder/);
    expect(status()).toBe("restored");
  });

  it("keeps all digits of a token", () => {
    const token = 9_007_199_254_740_993n;
    withSqliteFence(database, holder("orders/42", token), write("sent"));
    expect(() => withSqliteFence(database, holder("orders/42", token - 1n), write("late"))).toThrow(
      FencedOutError,
    );
  });

  it.each([
    ["without a fence", (sql: string) => database.exec(sql)],
    [
      "with the fence of another row",
      (sql: string) => withSqliteFence(database, holder("orders/43", 99n), () => database.exec(sql)),
    ],
  ])("refuses every write %s", (_, run) => {
    for (const sql of [
      "insert into orders values (44, 'new')",
      "update orders set status = 'sent' where id = 42",
      "update orders set id = 45 where id = 43",
      "delete from orders where id = 42",
    ])
      expect(() => run(sql), sql).toThrow(/no token of what it writes/);
    expect(database.all("select id, status from orders")).toEqual([
      { id: 42, status: "new" },
      { id: 43, status: "new" },
    ]);
  });

  it.each([
    ["orders/44", "orders/-1", orders.resource],
    ["shard/0", "shard/1", (row: string) => `'shard/' || (abs(${row}.id) % 2)`],
  ])(
    "judges an insert by the key that SQLite chooses: it takes that of %s and refuses that of %s",
    (own, other, resource) => {
      database.exec(sqliteGuards([{ table: "orders", resource }]));
      const insert = () => database.exec("insert into orders (status) values ('new')");
      expect(() => withSqliteFence(database, holder(other, 7n), insert)).toThrow(FencedOutError);
      expect(status(44)).toBeUndefined();
      withSqliteFence(database, holder(own, 7n), insert);
      expect(status(44)).toBe("new");
    },
  );

  it("takes one transaction with the fences of several locks", () => {
    const both = [holder("orders/42", 5n), { resource: "orders/43", handle: holder("any", 6n) }];
    withSqliteFence(database, both, () => {
      write("sent")();
      write("sent", 43)();
    });
    expect([status(), status(43)]).toEqual(["sent", "sent"]);
    expect(database.all("select * from holdfast_writers")).toEqual([]);
  });

  it("only notes what it would refuse while it checks, and refuses after that", () => {
    database.exec(sqliteGuards([{ ...orders, mode: "check" }]));
    write("without")();
    expect(database.all('select "table", operation, resource from holdfast_refusals')).toEqual([
      { table: "orders", operation: "update", resource: "orders/42" },
      { table: "orders", operation: "update", resource: "orders/42" },
    ]);
    withSqliteFence(database, holder("orders/42", 7n), write("sent"));
    withSqliteFence(database, holder("orders/42", 6n), write("late"));
    expect(database.all("select resource from holdfast_refusals where id > 2")).toHaveLength(2);
    expect(status()).toBe("late");
    database.exec(sqliteGuards([orders]));
    expect(write("again")).toThrow(/no token/);
    expect(() => withSqliteFence(database, holder("orders/42", 6n), write("late"))).toThrow(/later holder/);
  });

  it("guards the row that replace removes where SQLite calls triggers for it", () => {
    database.exec("pragma recursive_triggers = on");
    database.exec(sqliteGuards([{ table: "orders", resource: (row) => `'orders/' || ${row}.status` }]));
    const replace = () => database.exec("replace into orders values (42, 'mine')");
    expect(() => withSqliteFence(database, holder("orders/mine", 1n), replace)).toThrow(/no token/);
    const both = [holder("orders/mine", 1n), holder("orders/new", 1n)];
    withSqliteFence(database, both, replace);
    expect(status()).toBe("mine");
  });

  it("rolls back what the body throws, and refuses a body that is not over when it returns", () => {
    const wrong = new Error("of the body");
    const failing = () => {
      write("half")();
      throw wrong;
    };
    expect(() => withSqliteFence(database, holder("orders/42", 7n), failing)).toThrow(wrong);
    expect(() => withSqliteFence(database, holder("orders/42", 7n), async () => write("late")())).toThrow(
      /promise/,
    );
    expect(status()).toBe("new");
    withSqliteFence(database, holder("orders/42", 1n), write("sent"));
  });

  it("throws the error after which SQLite has rolled back by itself", () => {
    const again = () => database.exec("insert or rollback into orders values (43, 'again')");
    expect(() => withSqliteFence(database, holder("orders/43", 7n), again)).toThrow(/UNIQUE/);
    withSqliteFence(database, holder("orders/43", 1n), write("sent", 43));
    expect(status(43)).toBe("sent");
  });

  it("takes the handles of a provider while they hold, and none without a token", async () => {
    const locks = memoryLocks();
    const lock = await locks.mutex("orders/42").acquire();
    withSqliteFence(database, lock, write("sent"));
    await lock.release();
    expect(() => withSqliteFence(database, lock, write("late"))).toThrow(/released/);
    expect(() => withSqliteFence(database, holder("orders/42", null), write("late"))).toThrow(/no token/);
    expect(() => withSqliteFence(database, [], write("late"))).toThrow(/no lock/);
    expect(() => withSqliteFence(database, lock, write("late"), { epoch: -1 })).toThrow(/epoch/);
    await locks.close();
  });

  it("refuses a token that SQLite would round", () => {
    const large = holder("orders/42", 2n ** 63n);
    expect(() => withSqliteFence(database, large, () => {})).toThrow(/too large/);
  });

  it("takes any name of a table and any resource", () => {
    database.exec(`create table "it's ""odd""" (n text)`);
    database.exec(sqliteGuards([{ table: `it's "odd"`, resource: (row) => `${row}.n` }]));
    withSqliteFence(database, holder("o'clock", 1n), () =>
      database.exec(`insert into "it's ""odd""" values ('o''clock')`),
    );
    expect(() => sqliteGuards([{ ...orders, table: "" }])).toThrow(/name/);
    expect(() => sqliteGuards([{ ...orders, mode: "warn" as never }])).toThrow(/mode/);
  });
});
