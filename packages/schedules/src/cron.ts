import { hostname } from "node:os";
import { InvalidArgumentError, type LockProvider, systemRuntime } from "@holdfast/core";
import { list } from "./names.js";
import { look, type RunRecord, recordName } from "./run-record.js";

/** The `RunCoordinator` of node-cron 4, which it asks before each run of a task with `distributed: true`. */
export interface CronCoordinator {
  /**
   * Resolves with `true` in one replica for each key. Rejects as `SharedRecord.replace()` does, also where it is not known
   * whether a claim of this call was written. Rejects with `InvalidArgumentError` for a key without a task's name, and with
   * `UnsupportedError` with RedLock. After a rejection, node-cron leaves the run out.
   */
  shouldRun(key: string, ttlMs: number): Promise<boolean>;
  /** Notes that the run has ended. */
  onComplete(key: string): Promise<void>;
}

/**
 * A coordinator for tasks of node-cron that run in one replica for each due time, even when the replicas' clocks differ.
 * Keys are the task's name and its due time; due times are claimed in rising order, in a record that outlives all replicas.
 * `by`: the name of this replica, which is shown with the last run; default host name and process id.
 *
 * @example
 * ```ts
 * import { cronCoordinator } from "@holdfast/schedules";
 * import cron from "node-cron";
 *
 * const runCoordinator = cronCoordinator(locks);
 * const options = { name: "report", timezone: "UTC", distributed: true, runCoordinator };
 * cron.schedule("0 3 * * *", ({ date }) => console.log(`report of ${date}`), options);
 * ```
 */
export function cronCoordinator(
  locks: LockProvider,
  { by = `${hostname()}/${process.pid}` }: { readonly by?: string } = {},
): CronCoordinator {
  /** Claims of this process whose runs have not ended, by key. */
  const claims = new Map<string, { readonly text: string; readonly record: RunRecord }>();
  return {
    async shouldRun(key) {
      const { name, dueMs } = partsOf(key);
      const shared = locks.record(recordName(name));
      const claim = {
        v: 1,
        due: dueMs,
        state: "running",
        claim: systemRuntime.randomId(),
        attempt: 1,
        by,
      } as const;
      /** The error after which it is not known whether a claim of this call was written. */
      let unsure: { readonly error: unknown } | null = null;
      for (;;) {
        const seen = await look(shared);
        if (seen.record === null) await list(locks, name);
        else if (seen.record.due >= dueMs) {
          // The claim may have been written, and a later claim may have replaced it since. Then no replica of the fleet runs
          // this due time.
          if (unsure !== null) throw unsure.error;
          return false;
        }
        const record = { ...claim, at: systemRuntime.wallMs() };
        const text = JSON.stringify(record);
        // Where the answer is lost, the claim may have been written. Then no other replica runs this due time. The same call
        // again shows it.
        let claimed: boolean;
        try {
          claimed = await shared.replace(seen.text, text);
        } catch (error) {
          unsure = { error };
          claimed = await shared.replace(seen.text, text);
        }
        if (!claimed) continue;
        claims.set(key, { text, record });
        return true;
      }
    },
    async onComplete(key) {
      const claim = claims.get(key);
      if (claim === undefined) return;
      claims.delete(key);
      const { name } = partsOf(key);
      const ended = { ...claim.record, state: "done", ended: systemRuntime.wallMs() };
      // Where a later run was claimed meanwhile, there is nothing left to note.
      await locks.record(recordName(name)).replace(claim.text, JSON.stringify(ended));
    },
  };
}

/** node-cron makes keys of the task's name, a colon, and the due time as `toISOString()` gives it. */
function partsOf(key: string): { readonly name: string; readonly dueMs: number } {
  const [, name = "", iso = ""] = /^(.+):(\d{4,6}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)$/.exec(String(key)) ?? [];
  const dueMs = Date.parse(iso);
  if (name !== "" && Number.isFinite(dueMs)) return { name, dueMs };
  throw new InvalidArgumentError(
    `cronCoordinator: a key must be a task's name, a colon and a due time like 2026-01-31T03:00:00.000Z; got ${JSON.stringify(key)}: give the task a name`,
  );
}
