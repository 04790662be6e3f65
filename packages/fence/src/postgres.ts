import { FencedOutError, InvalidArgumentError } from "@holdfast/core";
import { isEnforced, quoteName, quoteText } from "./tables.js";
import { type Fence, type FenceOptions, fencesOf, type Writer } from "./writer.js";

/** A table whose writers need the token of a lock. */
export interface GuardedTable {
  /** The exact name, with its schema where that is not in the search path: `["shop", "orders"]`. */
  readonly table: string | readonly [schema: string, table: string];
  /**
   * The SQL of a text that names the resource which a row belongs to, by the row's name: ``(row) => `'orders/' || ${row}.id` ``. Writers
   * must give a token of exactly that resource. PostgreSQL computes the generated columns of a row after its guard, which sees
   * null in them.
   */
  readonly resource: (row: string) => string;
  /**
   * `"enforce"` (default): a write without the newest token fails, with the SQLSTATE `HF001`. `"check"`: such a write goes
   * through, and is noted in `holdfast_fence.refusals`.
   */
  readonly mode?: "enforce" | "check";
}

/**
 * The migration that puts guards on tables: run it as their owner, by `psql` or any tool for migrations. It may be run
 * again, with other tables or modes. PostgreSQL 12 or newer; 13 or newer for partitioned tables. A guard compares the token
 * of the transaction (`fenceStatement`, `withFence`) with the newest token that the resource has seen, and remembers it; the
 * rest of the table is as it was. Partitions and tables that inherit from a guarded table are guarded with it; run the
 * migration again after a new one was made.
 *
 * @example
 * ```ts
 * import { postgresGuards } from "@holdfast/fence";
 *
 * const sql = postgresGuards([{ table: "orders", resource: (row) => `'orders/' || ${row}.id` }]);
 * await pool.query(sql);
 * ```
 */
export function postgresGuards(tables: readonly GuardedTable[]): string {
  return [common, ...tables.map(guardOf)].join("\n");
}

/** The migration that takes the guards off these tables. The tokens that resources have seen stay stored. */
export function withoutPostgresGuards(tables: readonly Pick<GuardedTable, "table">[]): string {
  return tables.map(unguardOf).join("\n");
}

const common = `create schema if not exists holdfast_fence;
grant usage on schema holdfast_fence to public;
create table if not exists holdfast_fence.tokens (
  resource text primary key,
  epoch bigint not null,
  token bigint not null,
  turn integer not null
);
create table if not exists holdfast_fence.refusals (
  id bigint generated always as identity primary key,
  at timestamptz not null default clock_timestamp(),
  "table" text not null,
  operation text not null,
  resource text not null,
  given text,
  newest text,
  writer text not null default current_setting('application_name')
);
create or replace function holdfast_fence.is_newest(wanted text, given jsonb)
returns boolean language plpgsql as $newest$
begin
  -- The row stays locked until the transaction ends: whoever comes with a newer token waits, and then sees all of it.
  perform 1 from holdfast_fence.tokens known where known.resource = wanted and known.epoch = (given ->> 0)::bigint
    and known.token = (given ->> 1)::bigint and known.turn = (given ->> 2)::integer for share;
  if found then return true; end if;
  -- Tokens only rise, so a newer one that is committed decides at once. To wait for its holder's transaction could end that one by a deadlock.
  if exists (select 1 from holdfast_fence.tokens known where known.resource = wanted and (known.epoch, known.token, known.turn)
    > ((given ->> 0)::bigint, (given ->> 1)::bigint, (given ->> 2)::integer)) then return false; end if;
  insert into holdfast_fence.tokens as known (resource, epoch, token, turn)
    values (wanted, (given ->> 0)::bigint, (given ->> 1)::bigint, (given ->> 2)::integer)
    on conflict (resource) do update set epoch = excluded.epoch, token = excluded.token, turn = excluded.turn
    where (known.epoch, known.token, known.turn) <= (excluded.epoch, excluded.token, excluded.turn);
  return found;
end
$newest$;
create or replace function holdfast_fence.see(fences text)
returns void language plpgsql security definer set search_path = pg_catalog, pg_temp as $see$
declare
  wanted text;
  given jsonb;
begin
  -- In one order, so that no two announcements wait for each other. A fence that is no longer the newest is refused at the first write, since
  -- the mode of the table decides what a refusal is.
  for wanted, given in select fence.key, fence.value from jsonb_each(fences::jsonb) fence order by fence.key loop
    -- One that was shown before costs no lock, and so no write.
    continue when exists (select 1 from holdfast_fence.tokens known where known.resource = wanted and known.epoch = (given ->> 0)::bigint
      and known.token = (given ->> 1)::bigint and known.turn = (given ->> 2)::integer);
    perform holdfast_fence.is_newest(wanted, given);
  end loop;
end
$see$;
create or replace function holdfast_fence.admit(wanted text, guarded text, operation text, enforced boolean)
returns void language plpgsql security definer set search_path = pg_catalog, pg_temp as $admit$
declare
  given jsonb := nullif(current_setting('holdfast.fences', true), '')::jsonb -> wanted;
  newest text;
begin
  if given is not null and holdfast_fence.is_newest(wanted, given) then return; end if;
  select format('epoch %s, token %s, turn %s', known.epoch, known.token, known.turn) into newest
    from holdfast_fence.tokens known where known.resource = wanted;
  if enforced then
    raise exception using errcode = 'HF001',
      message = format('the %s of %s in %s has %s', lower(operation), coalesce(wanted, 'a row without a resource'), guarded,
        case when given is null then 'no token of it' else 'a token that is no longer the newest' end),
      detail = format('given: %s; newest: %s', coalesce(given::text, 'none'), coalesce(newest, 'none')),
      hint = 'The lock may have gone to another holder. Begin the transaction with the fence of a lock that is held.';
  end if;
  insert into holdfast_fence.refusals ("table", operation, resource, given, newest)
    values (guarded, operation, coalesce(wanted, ''), given::text, newest);
end
$admit$;
create or replace function holdfast_fence.refuse_truncate() returns trigger language plpgsql as $truncate$
begin
  if tg_argv[0] = 'check' then
    perform holdfast_fence.admit(null, tg_relid::regclass::text, tg_op, false);
    return null;
  end if;
  raise exception using errcode = 'HF001', message = format('truncate of %s has no token of its rows', tg_relid::regclass);
end
$truncate$;
`;

/**
 * SQL for the table and all tables that take its rows: its partitions, whose row triggers PostgreSQL makes itself, and
 * tables that inherit from it.
 */
const tree = (table: string): string => `with recursive tree(relid, cloned) as (
      select ${table}, false
      union
      select kin.inhrelid::regclass, parent.relkind = 'p'
        from tree join pg_catalog.pg_inherits kin on kin.inhparent = tree.relid join pg_catalog.pg_class parent on parent.oid = tree.relid
    )`;

/** SQL that takes the triggers off. Their functions, which no other trigger uses, are dropped with them. */
const takenOff = `
    for old in select tgfoid::regprocedure::text from pg_catalog.pg_trigger where tgrelid = member.relid and tgname = 'holdfast_fence' loop
      olds := olds || old;
    end loop;
    if not member.cloned then
      execute format('drop trigger if exists holdfast_fence on %s', member.relid::regclass);
    end if;
    execute format('drop trigger if exists holdfast_fence_truncate on %s', member.relid::regclass);`;
const unused = `
  for old in select distinct each from unnest(olds) each loop
    if not exists (select from pg_catalog.pg_trigger where tgfoid = old::regprocedure) then execute 'drop function ' || old; end if;
  end loop;`;

/**
 * Everything is in one statement, so that no writer comes between two guards, whichever tool sends it. The function has a
 * name of its own in each migration: two tables of one name in two schemas must not share a function.
 */
function guardOf({ table, resource, mode }: GuardedTable): string {
  const quoted = nameOf(table);
  const enforced = isEnforced(mode);
  const admit = (row: string): string =>
    `perform holdfast_fence.admit((${resource(row)})::text, tg_relid::regclass::text, tg_op, ${enforced});`;
  return `do $guards$
declare
  guarded regclass := ${quoteText(quoted)}::regclass;
  -- PostgreSQL cuts a name at 63 bytes. The hash comes first, because the characters of the name of the table may have several bytes each.
  guard text := format('holdfast_fence.%I', format('guard %s %s',
    md5(random()::text || clock_timestamp()::text), (select left(relname, 24) from pg_catalog.pg_class where oid = guarded)));
  member record;
  old text;
  olds text[] := '{}';
begin
  execute 'create function ' || guard || $body$() returns trigger language plpgsql as $guard$
begin
  if tg_op = 'DELETE' then
    ${admit("old")}
    return old;
  end if;
  if tg_op = 'UPDATE' and (${resource("old")})::text is distinct from (${resource("new")})::text then
    ${admit("old")}
  end if;
  ${admit("new")}
  return new;
end
$guard$$body$;
  for member in ${tree("guarded")} select * from tree loop${takenOff}
    if not member.cloned then
      execute format('create trigger holdfast_fence before insert or update or delete on %s
        for each row execute function %s()', member.relid::regclass, guard);
    end if;
    execute format('create trigger holdfast_fence_truncate before truncate on %s
      for each statement execute function holdfast_fence.refuse_truncate(${enforced ? "" : "''check''"})', member.relid::regclass);
  end loop;${unused}
end
$guards$;
`;
}

function unguardOf({ table }: Pick<GuardedTable, "table">): string {
  return `do $guards$
declare
  guarded regclass := ${quoteText(nameOf(table))}::regclass;
  member record;
  old text;
  olds text[] := '{}';
begin
  for member in ${tree("guarded")} select * from tree loop${takenOff}
  end loop;${unused}
end
$guards$;
`;
}

function nameOf(table: GuardedTable["table"]): string {
  return (typeof table === "string" ? [table] : table).map(quoteName).join(".");
}

const fenceText = "select set_config('holdfast.fences', $1, true)";
const announceText = "select holdfast_fence.see($1)";

/** A statement with its parameters, as every client of PostgreSQL takes it. */
export interface FenceStatement {
  /** The SQL, with the placeholder `$1`. */
  readonly text: string;
  /** One value for each placeholder. */
  readonly values: [string];
}

/**
 * The statement that gives a transaction its tokens. Send it as the first statement of the transaction, by whichever
 * library. It applies to this transaction only, so it works behind PgBouncer in transaction mode. The resource sees the
 * token with the first guarded write. Before a transaction that reads before it writes, send `announceStatement()`. The
 * tokens are read now: throws `LockLostError` and `NotHeldError` for a handle that no longer holds, and
 * `InvalidArgumentError` for a handle without a token.
 *
 * @example
 * ```ts
 * import { fenceStatement } from "@holdfast/fence";
 *
 * const { text, values } = fenceStatement(lock);
 * await client.query("begin");
 * await client.query(text, values);
 * await client.query("update orders set status = 'sent' where id = 42");
 * await client.query("commit");
 * ```
 */
export function fenceStatement(writers: Writer | readonly Writer[], options?: FenceOptions): FenceStatement {
  return { text: fenceText, values: [settingOf(fencesOf(writers, options))] };
}

/**
 * The statement that shows the tokens to the resources. Send it outside of any transaction, before the transaction of
 * `fenceStatement()`. It waits for what an earlier holder has written and not committed, and what that holder writes later
 * is refused. So the transaction may read, and write what depends on what it has read. The statement keeps no lock in the
 * database: a holder that stands still in its transaction before it has written delays no later holder. For several locks,
 * send a statement for each: one for all would keep the first resources locked while it waits for the next one, and an
 * earlier holder that then writes the first would be in a deadlock with it. Throws as `fenceStatement()` does.
 *
 * @example
 * ```ts
 * import { announceStatement, fenceStatement } from "@holdfast/fence";
 *
 * const announced = announceStatement(lock);
 * await client.query(announced.text, announced.values);
 * const { text, values } = fenceStatement(lock);
 * await client.query("begin");
 * await client.query(text, values);
 * const stock = await client.query("select stock from items where id = 42");
 * // ... what is written is worked out from the stock
 * await client.query("commit");
 * ```
 */
export function announceStatement(
  writers: Writer | readonly Writer[],
  options?: FenceOptions,
): FenceStatement {
  return { ...fenceStatement(writers, options), text: announceText };
}

/** The setting as JSON. It is written by hand, because a token has more digits than a number of JSON keeps in JavaScript. */
function settingOf(fences: readonly Fence[]): string {
  const entries = fences.map(
    ({ resource, epoch, token, turn }) => `${JSON.stringify(resource)}:[${epoch},${token},${turn}]`,
  );
  return `{${entries.join(",")}}`;
}

/** What `withFence` needs of a client of `pg`. */
export interface PgClient {
  /** Sends one statement. */
  query(text: string, values?: unknown[]): Promise<unknown>;
  /** Gives the connection back to its pool, which ends it where an error is given. */
  release(error?: Error | boolean): void;
  /** The `on` of an `EventEmitter`. */
  on?(event: "error", listener: (error: Error) => void): unknown;
  /** The `off` of an `EventEmitter`. */
  off?(event: "error", listener: (error: Error) => void): unknown;
}

/** What `withFence` needs of a pool of `pg`. */
export interface PgPool<Client extends PgClient> {
  /** Lends a connection. */
  connect(): Promise<Client>;
}

/**
 * Runs `body` in a transaction with the tokens of the locks, which the resources see before it. So `body` may read, and
 * write what depends on what it has read. Rejects with `FencedOutError` when a guarded table has seen a later holder, with
 * what `fenceStatement()` throws, and with what `body` or the client rejects with; the transaction is rolled back then, except
 * where the connection broke at the commit: then it was applied once or not at all, and a fence does not refuse a second try of
 * the same holder.
 * Rejects with `InvalidArgumentError` when `body` fulfils although one of its statements has failed, because PostgreSQL
 * commits nothing then. Costs two statements more than a transaction without a fence, and one for each further lock.
 *
 * @example
 * ```ts
 * import { withFence } from "@holdfast/fence";
 *
 * await locks.mutex("orders/42").withLock(async (lock) => {
 *   await withFence(pool, lock, (client) => client.query("update orders set status = 'sent' where id = 42"));
 * });
 * ```
 */
export async function withFence<Client extends PgClient, T>(
  pool: PgPool<Client>,
  writers: Writer | readonly Writer[],
  body: (client: Client) => PromiseLike<T> | T,
  options?: FenceOptions,
): Promise<T> {
  const fences = fencesOf(writers, options);
  const client = await pool.connect();
  let broken: Error | undefined;
  // When the connection breaks, the statement under way rejects. Without this listener, the event `error` that comes too
  // would end the process.
  const breaks = (error: Error): void => {
    broken = error;
  };
  client.on?.("error", breaks);
  try {
    // One by one: a statement for all of them would keep locks while it waits, see `announceStatement`.
    for (const fence of fences) await client.query(announceText, [settingOf([fence])]);
    await client.query("begin");
    await client.query(fenceText, [settingOf(fences)]);
    const result = await body(client);
    const { command } = (await client.query("commit")) as { command?: unknown };
    // PostgreSQL answers so to the commit of a transaction in which a statement has failed.
    if (command === "ROLLBACK") throw new InvalidArgumentError(failureCaught);
    return result;
  } catch (error) {
    await client.query("rollback").catch((failure: Error) => {
      broken = failure;
    });
    throw fencedOut(error) ?? error;
  } finally {
    client.off?.("error", breaks);
    // A connection that could not even be rolled back is not used again.
    client.release(broken);
  }
}

const failureCaught =
  "withFence: a statement of the body has failed, and the body fulfilled all the same: nothing was written. Let its error pass, or roll back to a savepoint";

/** The most errors of libraries above the client that may wrap the client's error. Drizzle wraps it once. */
const mostCauses = 8;

/**
 * A `FencedOutError` for an error with which a guard has refused a write, also where that error is the `cause` of an error
 * of a library above the client; `undefined` for any other error.
 */
export function fencedOut(error: unknown): FencedOutError | undefined {
  let found = error as
    | { code?: unknown; message?: string; detail?: string; cause?: unknown }
    | null
    | undefined;
  for (let causes = 0; found?.code !== "HF001"; causes++) {
    if (found instanceof FencedOutError) return found;
    if (causes === mostCauses) return undefined;
    found = found?.cause as typeof found;
  }
  const { message = "", detail } = found;
  // PostgreSQL quotes the name of a table that has a blank in it.
  const [, resource = ""] = /^the \w+ of (.*) in (?:"[^"]*"|[^\s"])+ has /s.exec(message) ?? [];
  // The guard of truncate compares no token, and so gives no detail.
  const text = detail === undefined ? message : `${message} (${detail})`;
  return new FencedOutError(text, { lockName: resource, cause: error });
}
