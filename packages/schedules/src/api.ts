import type { LockHandle, Millis, Runtime } from "@holdfast/core";

/** One run of a job. */
export interface Run {
  /** The name of the schedule. */
  readonly name: string;
  /**
   * The due time of the run, which is the same in all replicas. Name and due time are the key by which a resource recognises
   * a run.
   */
  readonly due: Date;
  /** 1; higher where an earlier run of this due time was cut (`ifCut: "again"`). */
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
  /** The due time of the run. */
  readonly due: Date;
  /** See `Run.attempt`. */
  readonly attempt: number;
  /** `"failed"`: the job threw an error. `"lost"`: the lock was lost while the job ran, or before it could begin. */
  readonly outcome: "done" | "failed" | "lost";
  /** What the job threw. A `LockLostError` where the lock was lost before the job could begin. */
  readonly error?: unknown;
  /** When the job was called, by the clock of this replica. */
  readonly began: Date;
  /** When the job ended, by the same clock. */
  readonly ended: Date;
}

/** What a schedule takes. */
export interface OncePerOptions {
  /**
   * When runs are due. Milliseconds: at each whole multiple since 1970 began, in UTC. A function: returns the first due time
   * after any time that it is given, for example by a library of cron expressions with a time zone; it must return the same
   * in all replicas.
   */
  readonly every: Millis | ((after: Date) => Date);
  /** The least time between the starts of two runs, also when runs are caught up. Milliseconds; default 0. */
  readonly atLeastMs?: Millis;
  /**
   * What happens with due times that passed while no replica was there, or while an earlier run went on. `"latest"`
   * (default): the last of them is run, the others are not. `"all"`: each of them is run, in order.
   */
  readonly catchUp?: "latest" | "all";
  /** A due time that is longer ago than this is not run any more. Milliseconds; default `Infinity`. */
  readonly maxLateMs?: Millis;
  /**
   * What happens with a run that was cut, because its replica died or lost the lock before the run had ended. `"leave"`
   * (default): nothing, so that no job begins twice for one due time. `"again"`: another replica runs it again with a higher
   * `attempt`, so that each job comes to its end.
   */
  readonly ifCut?: "leave" | "again";
  /**
   * How much the clocks of the replicas may differ. A run begins at most this much too early. No difference leads to a
   * second run. A replica that sees a run which was claimed further in the future than this emits the process warning
   * `HF_SCHEDULE_CLOCKS`, at most once an hour. Once a clock that was ahead has claimed a due time, no replica runs a due
   * time before that one; the warning names it. Milliseconds; default 500.
   */
  readonly clocksWithinMs?: Millis;
  /**
   * Called with a report when a run of this replica has ended. An error of this function is a process warning and changes no
   * outcome. Without the function, an error of the job is the process warning `HF_RUN_FAILED`.
   */
  readonly onRun?: (report: RunReport) => void;
  /** The name of this replica, which is shown with the last run. Default: host name and process id. */
  readonly by?: string;
  /** Clocks and timers. Default those of the process. */
  readonly runtime?: Runtime;
}

/** A job of this replica that runs by the clock until it is stopped. */
export interface Schedule extends AsyncDisposable {
  /** The name of the schedule. */
  readonly name: string;
  /**
   * Begins no more runs. Resolves once a run that is under way has ended. Does not abort the `signal` of that run, and does not
   * close the provider.
   */
  stop(): Promise<void>;
}
