/**
 * A short text that all clients may read. A client may replace it if it is still the text that this client has seen. It
 * stays when all clients are gone. The counterpart in Curator is `SharedValue`, and in Redisson `RBucket`; the layout on
 * Redis is a new one.
 *
 * Calls reject with `BackendError` when there is no connection within `connectTimeoutMs` or the server refuses, with
 * `LayoutConflictError` where something else is kept under that name, with `InvalidArgumentError` for a text that is not a
 * string, is empty, is no well-formed Unicode or has more than 65,536 bytes, and with `ProviderClosedError`.
 */
export interface SharedRecord {
  /** The name as it was given to the provider. */
  readonly name: string;
  /** The present text; `null` where none was written yet. */
  read(): Promise<string | null>;
  /**
   * Writes `text` if the present text is `seen` (`null`: if there is none). `false`: the present text is another one, and nothing
   * was written. The result is `true` also if the present text is `text` already, so that a client may repeat a call whose answer
   * was lost. Clients that must not take each other's writes for their own put something into the text that no other client has.
   *
   * When the answer was lost and other clients have written since, this text may have been there in between. On ZooKeeper the
   * call then rejects with a `BackendError` that is not retryable, unless the node proves that this text was never there. Redis
   * keeps no count of writes. There the call rejects in the same way whenever the text is not `text`.
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

/**
 * Reads records and writes none. Each `LockProvider` is a `RecordReader`; the collectors of `@holdfast/collectors` also give one.
 */
export interface RecordReader {
  /** The record under this name. */
  record(name: string): Pick<SharedRecord, "name" | "read">;
}
