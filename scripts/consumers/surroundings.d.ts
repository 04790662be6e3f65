// Names that the examples in readmes and comments use without declaring them: those of an application, and of the text around
// an example. An example that declares such a name itself uses its own.
declare const locks: import("@holdfast/zk-recipes").ZooKeeperLocks;
declare const lock: import("@holdfast/core").LockHandle;
declare const order: { readonly id: number };
declare function charge(
  what: typeof order,
  how: { readonly fence: bigint | null; readonly signal: AbortSignal },
): Promise<void>;
declare function report(until?: { readonly signal: AbortSignal } | AbortSignal): Promise<void>;
declare function makeReport(signal: AbortSignal): Promise<void>;
declare function print(until: AbortSignal): Promise<void>;
declare function schedule(until: AbortSignal): Promise<void>;
declare function runDueJobs(how: {
  readonly fence: bigint | null;
  readonly signal: AbortSignal;
}): Promise<void>;
declare function rebuildPrices(until: AbortSignal): Promise<void>;
declare function rebuildIndex(until: AbortSignal): Promise<void>;
declare function loadShard(shard: number): Promise<void>;
declare function computePart(until: AbortSignal): Promise<void>;
declare function sendTheLetter(): Promise<void>;
declare function work(until: AbortSignal): Promise<void>;
declare function write(what: string, how: { readonly fence: bigint | null }): Promise<void>;
interface Side {
  readonly id: number;
  readonly fence: bigint | null;
}
declare function move(what: {
  readonly from: Side;
  readonly to: Side;
  readonly signal: AbortSignal;
}): Promise<void>;
declare function log(...what: readonly unknown[]): void;
declare const server: import("node:http").Server;
declare const app: import("fastify").FastifyInstance;
declare const cron: { schedule(when: string, what: () => Promise<void>): void };
declare const ca: Buffer;
declare const socket: import("node:net").Socket;
declare const id: bigint;
declare const proxy: import("@holdfast/test-servers").ZooKeeperProxy;
declare const url: string;
declare function myLocks(options: { readonly url: string }): import("@holdfast/core").LockProvider;
declare const backend: {
  delete(name: string): Promise<void>;
  cut(provider: import("@holdfast/core").LockProvider): void;
  mend(provider: import("@holdfast/core").LockProvider): void;
};
interface DatabaseClient {
  query(text: string, values?: unknown[]): Promise<unknown>;
  release(error?: Error | boolean): void;
}
/** As of the library pg. */
declare const pool: { query(text: string): Promise<unknown>; connect(): Promise<DatabaseClient> };
declare const client: DatabaseClient;
/** As of the libraries for SQLite. */
declare const database: { exec(sql: string): void };
declare const body: string;
declare function save(body: unknown): Promise<void>;
