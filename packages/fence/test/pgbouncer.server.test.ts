import pg from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { startPgBouncer } from "../../../e2e/support/pgbouncer.js";
import { type Postgres, startPostgres } from "../../../e2e/support/postgres.js";
import { FencedOutError, fenceStatement, postgresGuards, withFence } from "../src/index.js";
import { holder } from "./handles.js";

let server: Postgres;
let owner: pg.Pool;

beforeAll(async () => {
  server = await startPostgres();
  owner = new pg.Pool({ connectionString: server.url });
}, 120_000);
afterAll(async () => {
  await owner?.end();
  await server?.stop();
});
beforeEach(async () => {
  await owner.query("drop table if exists orders; drop schema if exists holdfast_fence cascade");
  await owner.query("create table orders (id integer primary key, status text not null)");
  await owner.query("insert into orders select id, 'new' from generate_series(0, 9) id");
  await owner.query(postgresGuards([{ table: "orders", resource: (row) => `'orders/' || ${row}.id` }]));
});

/** Clients with one connection each to PgBouncer, which shares `serverConnections` connections to PostgreSQL among them. */
async function clientsBehindPgBouncer(clients: number, serverConnections: number): Promise<pg.Pool[]> {
  const bouncer = await startPgBouncer(server.url, serverConnections);
  const pools = Array.from({ length: clients }, () => new pg.Pool({ connectionString: bouncer.url, max: 1 }));
  onTestFinished(async () => {
    await Promise.all(pools.map((pool) => pool.end()));
    await bouncer.stop();
  });
  return pools;
}

const write = (to: string) => (client: pg.PoolClient) =>
  client.query("update orders set status = $1 where id = 1", [to]);
const bare = "update orders set status = 'bare' where id = 1";

interface Seen {
  readonly pid: number;
  /** The fences of the transaction: `null` or empty if there are none. */
  readonly fences: string | null;
}

async function look(client: pg.ClientBase): Promise<Seen> {
  const { rows } = await client.query(
    "select pg_backend_pid() pid, current_setting('holdfast.fences', true) fences",
  );
  return rows[0];
}

describe("a guarded table of PostgreSQL behind PgBouncer in transaction mode", () => {
  it.each([
    [2, 1],
    [6, 2],
  ])(
    "never shows the fence of one client in a transaction of another: %i clients on %i connections",
    async (clients, serverConnections) => {
      const pools = await clientsBehindPgBouncer(clients, serverConnections);
      const rounds = 50;
      const pids = new Set<number>();
      const work = async (pool: pg.Pool, id: number): Promise<void> => {
        const client = await pool.connect();
        try {
          for (let round = 1; round <= rounds; round++) {
            const { text, values } = fenceStatement(holder(`orders/${id}`, BigInt(round)));
            await client.query("begin");
            const before = await look(client);
            await client.query(text, values);
            await client.query("update orders set status = $1 where id = $2", [`sent ${round}`, id]);
            const after = await look(client);
            await client.query(round % 3 === 0 ? "rollback" : "commit");
            const between = await look(client);
            expect([before.fences ?? "", after.fences, between.fences ?? ""]).toEqual(["", values[0], ""]);
            for (const { pid } of [before, after, between]) pids.add(pid);
          }
        } finally {
          client.release();
        }
      };
      await Promise.all(pools.map(work));
      // All server connections were used, so the clients did share them.
      expect(pids.size).toBe(serverConnections);
      const { rows } = await owner.query("select count(*)::int sent from orders where status = $1", [
        `sent ${rounds}`,
      ]);
      expect(rows).toEqual([{ sent: clients }]);
    },
  );

  it("refuses a write outside a transaction after a fenced one, of the same client and of another on its connection", async () => {
    const [one, other] = (await clientsBehindPgBouncer(2, 1)) as [pg.Pool, pg.Pool];
    await withFence(one, holder("orders/1", 7n), write("sent"));
    await expect(one.query(bare)).rejects.toMatchObject({ code: "HF001" });
    await expect(other.query(bare)).rejects.toMatchObject({ code: "HF001" });
    // Outside a transaction, a fence ends with its own statement.
    const { text, values } = fenceStatement(holder("orders/1", 8n));
    await one.query(text, values);
    await expect(one.query(bare)).rejects.toMatchObject({ code: "HF001" });
    await expect(other.query(bare)).rejects.toMatchObject({ code: "HF001" });
  });

  it("refuses a late writer whose connection the later holder has used in between", async () => {
    const [late, later] = (await clientsBehindPgBouncer(2, 1)) as [pg.Pool, pg.Pool];
    await withFence(late, holder("orders/1", 7n), write("packed"));
    await withFence(later, holder("orders/1", 8n), write("sent"));
    await expect(withFence(late, holder("orders/1", 7n), write("late"))).rejects.toThrow(FencedOutError);
    await withFence(later, holder("orders/1", 8n), write("paid"));
    expect((await owner.query("select status from orders where id = 1")).rows).toEqual([{ status: "paid" }]);
  });
});
