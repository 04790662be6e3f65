import { LayoutConflictError, type RecordReader } from "@holdfast/core";
import { listed } from "./names.js";
import { look, recordName } from "./run-record.js";

/** The last run of a schedule, whichever replica ran it. */
export interface LastRun {
  /** Its due time. */
  readonly due: Date;
  /** `"running"` also where its replica died during the run. */
  readonly state: "running" | "done" | "failed";
  /** 1; higher where it was run again. */
  readonly attempt: number;
  /** The replica, as its option `by` names it. */
  readonly by: string;
  /** When its job began, by the clock of that replica. Until its end is noted, and with `cronCoordinator`: when it was claimed. */
  readonly began: Date;
  /** When it ended, by the same clock. */
  readonly ended?: Date;
  /** The message of the error that the job threw. */
  readonly error?: string;
}

/**
 * The last run of a schedule; `null` where there was none yet. Rejects as `SharedRecord.read()` does.
 *
 * @example
 * ```ts
 * import { lastRun } from "@holdfast/schedules";
 *
 * const last = await lastRun(locks, "nightly-report");
 * console.log(last === null ? "never" : `${last.state}, due ${last.due.toISOString()}, by ${last.by}`);
 * ```
 */
export async function lastRun(records: RecordReader, name: string): Promise<LastRun | null> {
  const { record } = await look(records.record(recordName(name)));
  if (record === null || record.state === "born") return null;
  const { due, state, attempt, by, at, ended, error } = record;
  return {
    due: new Date(due),
    state,
    attempt,
    by,
    began: new Date(at),
    ...(ended === undefined ? {} : { ended: new Date(ended) }),
    ...(error === undefined ? {} : { error }),
  };
}

/**
 * The last run of each schedule of a provider's root, by name; `null` for a schedule that has not run yet. Runs that
 * `cronCoordinator` has claimed are included. When the names take 60,000 bytes, no more names are added. A name whose record
 * holds something else is left out; `lastRun` reports what it holds. Rejects as `SharedRecord.read()` does.
 */
export async function lastRuns(records: RecordReader): Promise<ReadonlyMap<string, LastRun | null>> {
  const names = await listed(records);
  const entries = await Promise.all(
    names.map(async (name): Promise<[string, LastRun | null][]> => {
      try {
        return [[name, await lastRun(records, name)]];
      } catch (error) {
        if (error instanceof LayoutConflictError) return [];
        throw error;
      }
    }),
  );
  return new Map(entries.flat());
}
