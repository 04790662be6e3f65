import { buildPackages, emit } from "./emit.js";
import { LineProcess } from "./line-process.js";

const answerWithinMs = 60_000;

/** The library whose locks keep other workers out. */
export type LockLibrary = "holdfast" | "redlock";

/** A Node.js process of its own that sells from a stock in PostgreSQL, through the built packages. */
export interface StockWorker {
  /** Resolves once it holds the lock of that article and has read its stock. */
  order(library: LockLibrary, id: number): Promise<void>;
  /** Writes one less than what it has read. */
  write(): Promise<"sold" | "refused">;
  signal(signal: "SIGSTOP" | "SIGCONT"): void;
  close(): Promise<void>;
}

/** @param masters the URLs of Redis servers. The first one has the locks of holdfast, and all of them have those of redlock. */
export async function startStockWorkers(
  count: number,
  database: string,
  masters: readonly string[],
): Promise<StockWorker[]> {
  await buildPackages("@holdfast/fence", "@holdfast/redis-recipes");
  await using emitted = await emit("support/process/stock-worker");
  const all = Array.from({ length: count }, () => new LineProcess(process.execPath, [emitted.file]));
  try {
    await Promise.all(all.map((lines) => lines.request("connect", [database, ...masters], answerWithinMs)));
  } catch (error) {
    await Promise.all(all.map((lines) => lines.kill()));
    throw error;
  }
  return all.map((lines) => ({
    async order(library, id) {
      await lines.request("order", [library, String(id)], answerWithinMs);
    },
    async write() {
      const [outcome] = await lines.request("write", [], answerWithinMs);
      return outcome as "sold" | "refused";
    },
    signal: (signal) => lines.signal(signal),
    async close() {
      try {
        await lines.request("close", [], answerWithinMs);
      } finally {
        await lines.end(5_000);
      }
    },
  }));
}
