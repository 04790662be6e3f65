import type { LockHandle, Millis, Runtime } from "@holdfast/core";

/** One run of a job. */
export interface Run {
  /** The name of the schedule. */
  readonly name: string;
  /** The time for which it runs, which is the same in all replicas. With the name it is the key under which a resource knows a run again. */
  readonly due: Date;
  /** 1; more where an earlier run of this due time was cut (`ifCut: "again"`). */
  readonly attempt: number;
  /** Held while the job runs. Its `token` is for resources that refuse late writers. */
  readonly lock: LockHandle;
  /** Aborts when the lock is lost: another replica may run from then on. */
  readonly signal: AbortSignal;
}

/** How a run has ended in this replica. */
export interface RunReport {
  /** The name of the schedule. */
  readonly name: string;
  /** The time for which it ran. */
  readonly due: Date;
  /** See `Run.attempt`. */
  readonly attempt: number;
  /** `"failed"`: the job has thrown. `"lost"`: the lock was lost while the job ran. */
  readonly outcome: "done" | "failed" | "lost";
  /** What the job has thrown. */
  readonly error?: unknown;
  /** When the job was called, by the clock of this replica. */
  readonly began: Date;
  /** When it ended. */
  readonly ended: Date;
}

/** What a schedule takes. */
export interface OncePerOptions {
  /**
   * When runs are due. Milliseconds: at each whole multiple since 1970 began, in UTC. A function: the first due time after any time that it is
   * given, for example by a library of cron expressions with a time zone; it must give the same in all replicas.
   */
  readonly every: Millis | ((after: Date) => Date);
  /** Between the begins of two runs there is at least this time, also when runs are caught up. Milliseconds; default 0. */
  readonly atLeastMs?: Millis;
  /**
   * What becomes of due times that passed while no replica was there, or while an earlier run went on. `"latest"` (default): the last of them is
   * run, the others are not. `"all"`: each, in order.
   */
  readonly catchUp?: "latest" | "all";
  /** A due time that is longer ago is not run any more. Milliseconds; default `Infinity`. */
  readonly maxLateMs?: Millis;
  /**
   * What becomes of a run whose replica died, or lost the lock, before it had ended. `"leave"` (default): nothing, so that no job begins twice for
   * one due time. `"again"`: another replica runs it again with a higher `attempt`, so that each job comes to its end.
   */
  readonly ifCut?: "leave" | "again";
  /**
   * How much the clocks of the replicas may differ. A run begins by so much too early at most. No difference leads to a second run; a greater
   * one is a warning of the process, `HF_SCHEDULE_CLOCKS`, once an hour at most, where a replica sees a run that was claimed later than now. Once a
   * clock that was ahead has claimed a due time, no replica runs one before that: the warning names the time. Milliseconds; default 500.
   */
  readonly clocksWithinMs?: Millis;
  /** Hears how each run of this replica ends. Without it, an error of the job is a warning of the process, `HF_RUN_FAILED`. */
  readonly onRun?: (report: RunReport) => void;
  /** Shown with the last run. Default: host name and process id. */
  readonly by?: string;
  /** Clocks and timers. Default those of the process. */
  readonly runtime?: Runtime;
}

/** A job of this replica that runs by the clock until it is stopped. */
export interface Schedule extends AsyncDisposable {
  /** The name of the schedule. */
  readonly name: string;
  /** Begins no more runs. Resolves once a run that goes on has ended. */
  stop(): Promise<void>;
}
