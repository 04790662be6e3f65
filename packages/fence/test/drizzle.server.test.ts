import { eq, sql } from "drizzle-orm";
import { drizzle, type NodePgDatabase } from "drizzle-orm/node-postgres";
import { integer, pgTable, text } from "drizzle-orm/pg-core";
import pg from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Postgres, startPostgres } from "../../../e2e/support/postgres.js";
import {
  type FencedHandle,
  FencedOutError,
  fencedOut,
  fenceStatement,
  postgresGuards,
} from "../src/index.js";
import { holder } from "./handles.js";

const orders = pgTable("orders", { id: integer("id").primaryKey(), status: text("status").notNull() });
let server: Postgres;
let pool: pg.Pool;
let db: NodePgDatabase;

beforeAll(async () => {
  server = await startPostgres();
  pool = new pg.Pool({ connectionString: server.url });
  db = drizzle(pool);
}, 120_000);
afterAll(async () => {
  await pool?.end();
  await server?.stop();
});
beforeEach(async () => {
  await pool.query("drop table if exists orders; drop schema if exists holdfast_fence cascade");
  await pool.query("create table orders (id integer primary key, status text not null)");
  await pool.query("insert into orders values (42, 'new')");
  await pool.query(postgresGuards([{ table: "orders", resource: (row) => `'orders/' || ${row}.id` }]));
});

/** The function that the README shows. */
const send = (lock: FencedHandle, status: string): Promise<void> =>
  db.transaction(async (tx) => {
    const { values } = fenceStatement(lock);
    await tx.execute(sql`select set_config('holdfast.fences', ${values[0]}, true)`);
    await tx.update(orders).set({ status }).where(eq(orders.id, 42));
  });

const failure = (refused: PromiseLike<unknown>): Promise<unknown> =>
  Promise.resolve(refused).then(
    () => undefined,
    (error: unknown) => error,
  );

describe("a guarded table of PostgreSQL through Drizzle", () => {
  it("takes the fenced update of the newest holder", async () => {
    await send(holder("orders/42", 7n), "packed");
    await send(holder("orders/42", 8n), "sent");
    expect(await db.select().from(orders)).toEqual([{ id: 42, status: "sent" }]);
  });

  it("refuses a late one by an error that fencedOut() reads, and rolls its transaction back", async () => {
    await send(holder("orders/42", 8n), "sent");
    const error = await failure(send(holder("orders/42", 7n), "late"));
    const refused = fencedOut(error);
    expect(refused).toBeInstanceOf(FencedOutError);
    expect(refused).toMatchObject({ code: "HF_FENCED_OUT", lockName: "orders/42", cause: error });
    expect(refused?.message).toMatch(/no longer the newest.*newest: epoch 0, token 8, turn 0/);
    expect(await db.select().from(orders)).toEqual([{ id: 42, status: "sent" }]);
  });

  it("refuses an update without a fence by an error that fencedOut() reads", async () => {
    const update = db.update(orders).set({ status: "bare" });
    expect(fencedOut(await failure(update))?.message).toMatch(/no token of it/);
    expect(await db.select().from(orders)).toEqual([{ id: 42, status: "new" }]);
  });

  it("passes other errors: fencedOut() is undefined for them", async () => {
    const error = await failure(db.execute(sql`select 1/0`));
    expect(error).toBeInstanceOf(Error);
    expect(fencedOut(error)).toBeUndefined();
  });
});
