import { FencedOutError, InvalidArgumentError } from "@holdfast/core";
import { isEnforced, quoteName, quoteText } from "./tables.js";
import { type FenceOptions, fencesOf, type Writer } from "./writer.js";

/** A table whose writers need the token of a lock. */
export interface SqliteTable {
  /** The exact name. */
  readonly table: string;
  /** The SQL of a text that names the resource of a row, by the row's name; see `GuardedTable.resource`. */
  readonly resource: (row: string) => string;
  /**
   * `"enforce"` (default): a write without the newest token fails. `"check"`: such a write goes through, and is noted in
   * `holdfast_refusals`.
   */
  readonly mode?: "enforce" | "check";
}

/** What `withSqliteFence` needs of a database: `node:sqlite`, `better-sqlite3` and `node-sqlite3-wasm` have it. */
export interface SqliteDatabase {
  /** Runs one statement or several. */
  exec(sql: string): unknown;
}

/**
 * The SQL that puts guards on tables. Run it by `exec()` in a transaction, because between its statements a writer would
 * find no guard. It may be run again, with other tables or modes. SQLite 3.24 or newer. SQLite has one writer at a time. So
 * a transaction of `withSqliteFence` notes its writer in a table of its own, which is empty again at the end of the
 * transaction. A row that `replace` or `insert or replace` removes is guarded only with `pragma recursive_triggers = on`:
 * without it SQLite calls no trigger for that row. The row that is written is guarded in any case.
 *
 * @example
 * ```ts
 * import { sqliteGuards } from "@holdfast/fence";
 *
 * database.exec("begin immediate");
 * database.exec(sqliteGuards([{ table: "orders", resource: (row) => `'orders/' || ${row}.id` }]));
 * database.exec("commit");
 * ```
 */
export function sqliteGuards(tables: readonly SqliteTable[]): string {
  return [common, ...tables.map(guardsOf)].join("\n");
}

const late = "HF_FENCED_OUT: a later holder of the lock has written";
const none = "HF_FENCED_OUT: the transaction has no token of what it writes";

const common = `create table if not exists holdfast_tokens
  (resource text primary key, epoch integer not null, token integer not null, turn integer not null);
create table if not exists holdfast_writers
  (resource text primary key, epoch integer not null, token integer not null, turn integer not null);
create table if not exists holdfast_refusals
  (id integer primary key, at text not null default current_timestamp, "table" text not null, operation text not null, resource text);
drop trigger if exists holdfast_admit;
create trigger holdfast_admit before insert on holdfast_writers begin
  insert into holdfast_tokens as known select new.resource, new.epoch, new.token, new.turn where true
    on conflict (resource) do update set epoch = excluded.epoch, token = excluded.token, turn = excluded.turn
    where (known.epoch, known.token, known.turn) <= (excluded.epoch, excluded.token, excluded.turn);
end;
`;

function guardsOf({ table, resource, mode }: SqliteTable): string {
  const enforced = isEnforced(mode);
  return (["insert", "update", "delete"] as const)
    .map((operation) => {
      const rows = { insert: ["new"], update: ["old", "new"], delete: ["old"] }[operation];
      const name = quoteName(`holdfast_fence ${operation} ${table}`);
      // Before an insert, a key that SQLite is to choose is still -1.
      const moment = operation === "insert" ? "after" : "before";
      const checks = rows.map((row) => {
        const written = `(${resource(row)})`;
        const missing = `not exists (select 1 from holdfast_writers where resource = ${written})`;
        const overtaken = `exists (select 1 from holdfast_writers given join holdfast_tokens known on known.resource = given.resource
      where given.resource = ${written} and (known.epoch, known.token, known.turn) > (given.epoch, given.token, given.turn))`;
        return enforced
          ? `  select raise(abort, '${none}') where ${missing};\n  select raise(abort, '${late}') where ${overtaken};`
          : `  insert into holdfast_refusals ("table", operation, resource)
    select ${quoteText(table)}, '${operation}', ${written} where ${missing} or ${overtaken};`;
      });
      return `drop trigger if exists ${name};
create trigger ${name} ${moment} ${operation} on ${quoteName(table)} begin
${checks.join("\n")}
end;
`;
    })
    .join("");
}

/**
 * Runs `body` in a transaction with the tokens of the locks, which must be below 2^63. Throws `FencedOutError` when a later
 * holder of one of the locks has written, or when `body` writes a resource without its token. Throws what `fenceStatement()`
 * throws, and what `body` throws. Throws `InvalidArgumentError` for a `body` that returns a promise, because other code
 * could write in its transaction while it waits. The transaction is rolled back then.
 *
 * @example
 * ```ts
 * import { withSqliteFence } from "@holdfast/fence";
 *
 * await locks.mutex("orders/42").withLock((lock) => {
 *   withSqliteFence(database, lock, () => database.exec("update orders set status = 'sent' where id = 42"));
 * });
 * ```
 */
export function withSqliteFence<T>(
  database: SqliteDatabase,
  writers: Writer | readonly Writer[],
  body: () => T,
  options?: FenceOptions,
): T {
  const fences = fencesOf(writers, options);
  const large = fences.find(({ token }) => token >= 2n ** 63n);
  if (large !== undefined)
    throw new InvalidArgumentError(
      `withSqliteFence: the token ${large.token} is too large for SQLite, which would round it`,
    );
  const rows = fences.map(
    ({ resource, epoch, token, turn }) => `(${quoteText(resource)}, ${epoch}, ${token}, ${turn})`,
  );
  database.exec("begin immediate");
  try {
    database.exec(`insert into holdfast_writers values ${rows.join(", ")}`);
    const result = body();
    if (typeof (result as { then?: unknown } | null)?.then === "function")
      throw new InvalidArgumentError(
        "withSqliteFence: the body returned a promise, and must end before it returns",
      );
    database.exec("delete from holdfast_writers");
    database.exec("commit");
    return result;
  } catch (error) {
    try {
      database.exec("rollback");
    } catch {
      // After some errors, such as a full disk, SQLite has rolled back by itself. The caller needs the error above, not this
      // one.
    }
    const [, why] = /HF_FENCED_OUT: (.*)/.exec((error as Error | null)?.message ?? "") ?? [];
    if (why === undefined) throw error;
    const resources = fences.map(({ resource }) => resource).join(", ");
    throw new FencedOutError(`${resources}: ${why}`, { lockName: resources, cause: error });
  }
}
