/**
 * A short text that all clients may read, and replace if it is still what they have seen. It stays when all clients are gone. Curator and
 * Redisson have the like as `SharedValue` and `RBucket`; the layout on Redis is a new one.
 *
 * Calls reject with `BackendError` when there is no connection within `connectTimeoutMs` or the server refuses, with `LayoutConflictError`
 * where something else is kept under that name, with `InvalidArgumentError` for a text that is none, is empty or has more than 65,536 bytes,
 * and with `ProviderClosedError`.
 */
export interface SharedRecord {
  /** The name as it was given to the provider. */
  readonly name: string;
  /** The present text; `null` where none was written yet. */
  read(): Promise<string | null>;
  /**
   * Writes `text` where the present one is `seen` (`null`: where there is none). `false`: it is another one, and nothing was written.
   * `true` also where it is `text` already, so that the same call may be made again when its answer was lost: clients that must not
   * take each other's writes for their own put something into the text that no other client has.
   *
   * Where the answer was lost, and other clients have written since, this text may have been there in between. On ZooKeeper the call then rejects
   * with a `BackendError` that is not retryable, unless the node proves that it was not. Redis keeps no count of writes: `false` there.
   *
   * @example
   * ```ts
   * import { randomUUID } from "node:crypto";
   *
   * const record = locks.record("migrations");
   * const seen = await record.read();
   * const first = await record.replace(seen, JSON.stringify({ version: 7, by: randomUUID() }));
   * ```
   */
  replace(seen: string | null, text: string): Promise<boolean>;
}

/** Reads records and writes none. Each `LockProvider` is one, and so is what the collectors of `@holdfast/collectors` give. */
export interface RecordReader {
  /** The record under this name. */
  record(name: string): Pick<SharedRecord, "name" | "read">;
}
