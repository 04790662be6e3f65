/**
 * A process that sells from a stock in PostgreSQL. It is started by `stock-workers.ts` and steered by lines, as `contender.ts` is:
 *
 * - `connect <database> <Redis> <Redis> <Redis>`.
 * - `order <library> <id>` answers once the process holds the lock of that article and has read its stock.
 * - `write` writes one less than what it has read, and answers `sold` or `refused`.
 * - `close`.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { LockLostError } from "@holdfast/core";
import { FencedOutError, withFence } from "@holdfast/fence";
import { redisLocks } from "@holdfast/redis-recipes";
import { Redis } from "ioredis";
import pg from "pg";
import Redlock, { ExecutionError } from "redlock";
import { answerLines } from "./answer-lines.js";

type Outcome = "sold" | "refused";

interface Hold {
  /** Throws when the holder knows that it has lost the lock. */
  assertHeld(): void;
  /** Runs the body in a transaction with the fence of the lock, where it has one. */
  transaction(body: (client: pg.PoolClient) => Promise<Outcome>): Promise<Outcome>;
}

interface Locks {
  /**
   * Runs the body once the lock is held. Does nothing more when the lock was not granted or was lost; an outcome that the body
   * has by then stays.
   */
  withLock(name: string, body: (hold: Hold) => Promise<void>): Promise<void>;
  close(): Promise<unknown>;
}

const leaseMs = 150;
/** How long one order may take, with all tries to get the lock. */
const orderWithinMs = 30_000;

function holdfastOver(url: string, pool: pg.Pool): Locks {
  const locks = redisLocks({ url, leaseMs });
  return {
    async withLock(name, body) {
      try {
        await locks.mutex(name).withLock((lock) =>
          body({
            assertHeld: () => lock.assertHeld(),
            transaction: (sale) => withFence(pool, lock, sale),
          }),
        );
      } catch (error) {
        if (!(error instanceof LockLostError)) throw error;
      }
    },
    close: () => locks.close(),
  };
}

function redlockOver(urls: readonly string[], pool: pg.Pool): Locks {
  const clients = urls.map((url) => new Redis(url));
  // redlock wants a lease that is longer than this threshold by 100 ms.
  const redlock = new Redlock(clients, { retryCount: 0, automaticExtensionThreshold: leaseMs - 100 });
  // Each refusal of a node is an error event, but a lock that is taken is nothing to report.
  redlock.on("error", () => {});
  return {
    async withLock(name, body) {
      try {
        await redlock.using([`redlock/${name}`], leaseMs, (signal) =>
          body({
            assertHeld: () => signal.throwIfAborted(),
            transaction: (sale) => withoutFence(pool, sale),
          }),
        );
      } catch (error) {
        const { name } = error as Error;
        if (!(error instanceof ExecutionError) && name !== "AbortError") throw error;
        // The lock was taken or lost. This is the pause before it is asked for again.
        await sleep(10);
      }
    },
    async close() {
      for (const client of clients) client.disconnect();
    },
  };
}

async function withoutFence(
  pool: pg.Pool,
  body: (client: pg.PoolClient) => Promise<Outcome>,
): Promise<Outcome> {
  const client = await pool.connect();
  try {
    await client.query("begin");
    const outcome = await body(client);
    await client.query("commit");
    return outcome;
  } catch (error) {
    await client.query("rollback");
    throw error;
  } finally {
    client.release();
  }
}

/**
 * Reads the stock and checks that the lock is held. Writes, from what it has read, when the test says so. Between the check and
 * the write the test stops the process.
 */
async function sell(locks: Locks, id: number, looked: () => void, mayWrite: Promise<void>): Promise<Outcome> {
  let outcome: Outcome | undefined;
  const body = async (hold: Hold): Promise<void> => {
    const sale = hold.transaction(async (client) => {
      const { rows } = await client.query("select stock from articles where id = $1", [id]);
      hold.assertHeld();
      looked();
      await mayWrite;
      await client.query("update articles set stock = $1 where id = $2", [rows[0].stock - 1, id]);
      return "sold";
    });
    outcome = await sale.catch((error: unknown): Outcome => {
      if (error instanceof FencedOutError) return "refused";
      throw error;
    });
  };
  const endMs = performance.now() + orderWithinMs;
  while (outcome === undefined && performance.now() < endMs) await locks.withLock(`stock/${id}`, body);
  if (outcome === undefined) throw new Error(`article ${id}: not sold within ${orderWithinMs} ms`);
  return outcome;
}

let pool: pg.Pool | undefined;
let libraries: { readonly [name: string]: Locks } = {};
let sale: { readonly write: () => void; readonly outcome: Promise<Outcome> } | undefined;

function order(library: string, id: number): Promise<void> {
  const locks = libraries[library];
  if (locks === undefined) throw new Error(`no such library: ${library}`);
  return new Promise((looked, failed) => {
    let write = (): void => {};
    const mayWrite = new Promise<void>((told) => {
      write = told;
    });
    const outcome = sell(locks, id, looked, mayWrite);
    outcome.catch(failed);
    sale = { write, outcome };
  });
}

async function run(command: string, args: readonly string[]): Promise<readonly string[]> {
  if (command === "connect") {
    const [database = "", ...masters] = args;
    pool = new pg.Pool({ connectionString: database, max: 1 });
    libraries = { holdfast: holdfastOver(masters[0] ?? "", pool), redlock: redlockOver(masters, pool) };
  } else if (command === "order") {
    const [library = "", id = ""] = args;
    await order(library, Number(id));
  } else if (command === "write") {
    if (sale === undefined) throw new Error("write before order");
    sale.write();
    return [await sale.outcome];
  } else if (command === "close") {
    for (const locks of Object.values(libraries)) await locks.close();
    await pool?.end();
  } else throw new Error(`no such command: ${command}`);
  return [];
}

answerLines((command, ...args) => run(command, args));
