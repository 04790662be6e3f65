import { type FencedHandle, postgresGuards, withFence } from "@holdfast/fence";
import pg from "pg";
import { Latencies } from "./latencies.js";

export interface FenceOptions {
  /**
   * `postgres://user@host:port/database` of a server. Its user must be allowed to create databases: one is made for the
   * run, and dropped at its end.
   */
  readonly database: string;
  /** Transactions of each kind. Default 20,000. */
  readonly pairs?: number;
  readonly onProgress?: (what: string) => void;
}

/** Medians, in microseconds. */
export interface WriteCost {
  readonly what: string;
  /** The time from the update to its answer. */
  readonly updateUs: number;
  /** The time from borrowing the connection to the end of the transaction with that update. */
  readonly transactionUs: number;
}

export interface FenceReport {
  readonly pairs: number;
  /** The version that the server reports. */
  readonly serverVersion: string;
  readonly costs: readonly WriteCost[];
}

const resource = "bench";

/**
 * Measures what a guard adds to a write. One connection updates one row by its key in transactions, in turns without a
 * guard and with it.
 */
export async function measureFence(options: FenceOptions): Promise<FenceReport> {
  const { database, pairs = 20_000, onProgress = () => {} } = options;
  const name = `holdfast_bench_${process.pid}`;
  const server = new pg.Client({ connectionString: database });
  await server.connect();
  try {
    await server.query(`create database ${name}`);
    const url = new URL(database);
    url.pathname = `/${name}`;
    const pool = new pg.Pool({ connectionString: url.href, max: 1 });
    try {
      const { rows } = await pool.query("show server_version");
      const costs = await compare(pool, pairs, onProgress);
      return { pairs, serverVersion: rows[0].server_version, costs };
    } finally {
      await pool.end();
      await server.query(`drop database ${name}`);
    }
  } finally {
    await server.end();
  }
}

async function compare(
  pool: pg.Pool,
  pairs: number,
  onProgress: (what: string) => void,
): Promise<WriteCost[]> {
  for (const table of ["bare", "guarded"]) {
    await pool.query(`create table ${table} (id integer primary key, value integer not null)`);
    await pool.query(`insert into ${table} select id, 0 from generate_series(1, 1000) id`);
  }
  await pool.query(postgresGuards([{ table: "guarded", resource: () => `'${resource}'` }]));
  let token = 1n;
  const holder = (): FencedHandle => ({ name: resource, token, turn: 0, assertHeld() {} });
  const kinds = [
    kind("without a guard", "bare", (body) => inTransaction(pool, body)),
    kind("with a guard, again by one holder", "guarded", (body) => withFence(pool, holder(), body)),
    kind("with a guard, each by a new holder", "guarded", (body) => {
      token += 1n;
      return withFence(pool, holder(), body);
    }),
  ];
  const warmUp = Math.ceil(pairs / 10);
  for (let round = 0; round < warmUp + pairs; round++) {
    // The order of the kinds rotates, so that each of them meets what the others leave behind, such as a row to clean
    // up.
    for (let turn = 0; turn < kinds.length; turn++)
      await kinds[(round + turn) % kinds.length]?.once(round >= warmUp);
    if ((round + 1) % 5_000 === 0) onProgress(`${round + 1} of ${warmUp + pairs} rounds`);
  }
  return kinds.map(({ cost }) => cost());
}

type Transaction = (body: (client: pg.PoolClient) => Promise<void>) => Promise<void>;

function kind(
  what: string,
  table: string,
  transaction: Transaction,
): { once(counts: boolean): Promise<void>; cost(): WriteCost } {
  const updates = new Latencies();
  const transactions = new Latencies();
  let updated = 0;
  return {
    async once(counts) {
      const id = (updated++ % 1_000) + 1;
      let updateMs = 0;
      const beganMs = performance.now();
      await transaction(async (client) => {
        const sentMs = performance.now();
        await client.query(`update ${table} set value = value + 1 where id = $1`, [id]);
        updateMs = performance.now() - sentMs;
      });
      if (!counts) return;
      transactions.add(performance.now() - beganMs);
      updates.add(updateMs);
    },
    cost: () => ({
      what,
      updateUs: updates.summary().p50Ms * 1_000,
      transactionUs: transactions.summary().p50Ms * 1_000,
    }),
  };
}

/** Like `withFence`, without a fence. An error ends the run, and the connection ends with it. */
async function inTransaction(pool: pg.Pool, body: (client: pg.PoolClient) => Promise<void>): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query("begin");
    await body(client);
    await client.query("commit");
  } finally {
    client.release();
  }
}
