import { postgresGuards, withoutPostgresGuards } from "@holdfast/fence";
import { type RedisNode, startRedis } from "@holdfast/test-servers";
import pg from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Postgres, startPostgres } from "../support/postgres.js";
import { type LockLibrary, type StockWorker, startStockWorkers } from "../support/process/stock-workers.js";
import { share } from "../support/share.js";

/** The number of lanes. Each has its own article and two workers that sell it. */
const lanes = 4;
const inFullMs = 600_000;
const stops = share("stops of a writer past its lease", 20, 1_000);
const guarded = { table: "articles", resource: (row: string) => `'stock/' || ${row}.id` };

let servers: [Postgres, ...RedisNode[]] | undefined;
let pool: pg.Pool;
let workers: StockWorker[] = [];

beforeAll(async () => {
  const started = await Promise.all([startPostgres(), startRedis(), startRedis(), startRedis()]);
  servers = started;
  const [{ url }, ...masters] = started;
  pool = new pg.Pool({ connectionString: url });
  workers = await startStockWorkers(
    2 * lanes,
    url,
    masters.map((master) => master.url),
  );
}, 180_000);
afterAll(async () => {
  await Promise.all(workers.map((worker) => worker.close()));
  await pool?.end();
  await Promise.all((servers ?? []).map((server) => server.stop()));
});
beforeEach(async () => {
  await pool.query("drop table if exists articles; drop schema if exists holdfast_fence cascade");
  await pool.query("create table articles (id integer primary key, stock integer not null)");
  await pool.query("insert into articles select id, 100000 from generate_series(1, $1) id", [lanes]);
  await pool.query(postgresGuards([guarded]));
});

async function stockOf(id: number): Promise<number> {
  return (await pool.query("select stock from articles where id = $1", [id])).rows[0].stock;
}

interface Figures {
  stops: number;
  /** Sales that were confirmed to the later holder or to the late writer, but are missing in the stock. */
  lost: number;
  refused: number;
}

/**
 * A writer reads the stock under its lock, sees that it still holds it, and is stopped by SIGSTOP. Once its lease has ended,
 * the next writer gets the lock and sells. Then SIGCONT lets the first writer go on, and it writes one less than it has read.
 */
async function stopOneWriter(
  library: LockLibrary,
  id: number,
  [first, second]: readonly [StockWorker, StockWorker],
): Promise<Pick<Figures, "lost" | "refused">> {
  await first.order(library, id);
  const before = await stockOf(id);
  first.signal("SIGSTOP");
  let late: Promise<string>;
  const outcomes: string[] = [];
  try {
    await second.order(library, id);
    outcomes.push(await second.write());
    // The command lies in the pipe of the stopped process, which reads it as soon as it goes on.
    late = first.write();
  } finally {
    first.signal("SIGCONT");
  }
  outcomes.push(await late);
  const sold = outcomes.filter((outcome) => outcome === "sold").length;
  return { lost: sold - (before - (await stockOf(id))), refused: outcomes.length - sold };
}

async function stopWriters(library: LockLibrary): Promise<Figures> {
  const figures: Figures = { stops: 0, lost: 0, refused: 0 };
  let begun = 0;
  await Promise.all(
    Array.from({ length: lanes }, async (_, lane) => {
      const pair = workers.slice(2 * lane, 2 * lane + 2) as [StockWorker, StockWorker];
      while (begun++ < stops) {
        const { lost, refused } = await stopOneWriter(library, lane + 1, pair);
        figures.stops++;
        figures.lost += lost;
        figures.refused += refused;
      }
    }),
  );
  return figures;
}

function print(what: string, figures: Figures): void {
  console.log(
    `${what}: ${figures.stops} stops, ${figures.lost} lost updates, ${figures.refused} refused writes`,
  );
}

describe("a writer that is stopped past its lease, with its stock in PostgreSQL", () => {
  it("overwrites no sale of the later holder where the table has guards: each late write is refused", {
    timeout: inFullMs,
  }, async () => {
    const figures = await stopWriters("holdfast");
    print("holdfast with guards", figures);
    expect(figures).toEqual({ stops, lost: 0, refused: stops });
  });

  it("overwrites sales of the later holder where the guards are taken off", {
    timeout: inFullMs,
  }, async () => {
    await pool.query(withoutPostgresGuards([guarded]));
    const figures = await stopWriters("holdfast");
    print("holdfast without guards", figures);
    expect(figures.lost).toBeGreaterThan(0);
    expect(figures.refused).toBe(0);
  });

  it("overwrites sales of the later holder where redlock keeps the lock, which has no tokens", {
    timeout: inFullMs,
  }, async () => {
    await pool.query(withoutPostgresGuards([guarded]));
    const figures = await stopWriters("redlock");
    print("redlock", figures);
    expect(figures.lost).toBeGreaterThan(0);
    expect(figures.refused).toBe(0);
  });
});
