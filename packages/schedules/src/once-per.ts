import { hostname } from "node:os";
import {
  AcquireTimeoutError,
  BackendError,
  InvalidArgumentError,
  type LockHandle,
  LockLostError,
  type LockProvider,
  type Millis,
  ProviderClosedError,
  type Runtime,
  type SharedRecord,
  systemRuntime,
} from "@holdfast/core";
import { checkKnownKeys, pause } from "@holdfast/core/internal";
import type { OncePerOptions, Run, RunReport, Schedule } from "./api.js";
import { type DueTimes, dueTimes, lastDue } from "./due-times.js";
import { list } from "./names.js";
import { errorText, look, type RunRecord, recordName, type SeenRecord } from "./run-record.js";

export type Job = (run: Run) => unknown;

/** The longest time between two looks at the wall clock, which may be set. */
const lookAgainMs: Millis = 30_000;
/** The shortest time between two warnings of a clock that is ahead. */
const warnAgainMs: Millis = 3_600_000;
/** The first and the longest pause after trouble with the backend. */
const restMs: Millis = 250;
const longRestMs: Millis = 5_000;
/** How long a replica waits for the lock without a break, before it looks again for what is due. */
const waitMs: Millis = 20_000;
/** The most looks of `runDue` where it does not know whether its claim was written. */
const mostLooks = 6;
/** The most waits of `runDue` for the lock in that case. */
const mostWaits = 2;
/**
 * The most waits while no replica has claimed what is due. They last two minutes, in which the lease or session of a dead
 * replica ends.
 */
const mostWaitsUnclaimed = 6;

/**
 * Runs `job` in one replica of a fleet for each due time. The replica that gets the schedule's lock first claims the due
 * time in a record that outlives all replicas. Clocks that differ, restarts and lost connections lead to no second run; with
 * `ifCut: "again"` a run that was cut in the middle is made again. Runs of one schedule do not overlap as long as the job
 * ends when its `signal` aborts.
 *
 * Throws `InvalidArgumentError` for wrong options. After trouble with the backend, the schedule tries again until it is
 * stopped. It ends when its provider is closed; a run that is under way then has the `graceMs` of the close.
 *
 * @example
 * ```ts
 * import { closeOnSignals } from "@holdfast/core";
 * import { oncePer } from "@holdfast/schedules";
 *
 * oncePer(locks, "nightly-report", { every: 24 * 3_600_000 }, async ({ signal }) => {
 *   await makeReport(signal);
 * });
 * closeOnSignals(locks, { graceMs: 20_000 });
 * ```
 */
export function oncePer(locks: LockProvider, name: string, options: OncePerOptions, job: Job): Schedule {
  const loop = new ScheduleLoop(new DueRuns(locks, name, options, job));
  return { name, stop: () => loop.stop(), [Symbol.asyncDispose]: () => loop.stop() };
}

/**
 * Runs what is due now, once in the fleet, and resolves with a report of how it ended. It resolves with `null` if it ran
 * nothing: nothing is due, `atLeastMs` is not over, other replicas have claimed all that is due, or the lock stayed taken for
 * two minutes and no replica has claimed what is due. It is for processes that cron starts and that exit after their job. One
 * call makes one run: with `catchUp: "all"` call it until it gives `null`. Rejects with `BackendError` where the backend cannot be
 * reached; if its claim may have been written, it first tries some more times. Rejects with `InvalidArgumentError` for wrong
 * options. The first call for a name runs nothing: it notes the time from which due times count.
 *
 * @example
 * ```ts
 * import { runDue } from "@holdfast/schedules";
 *
 * const report = await runDue(locks, "nightly-report", { every: 24 * 3_600_000 }, ({ signal }) => makeReport(signal));
 * // "failed": the job has thrown. "lost": the lock went before its end, or before it could begin.
 * process.exitCode = report === null || report.outcome === "done" ? 0 : 1;
 * ```
 */
export async function runDue(
  locks: LockProvider,
  name: string,
  options: OncePerOptions,
  job: Job,
): Promise<RunReport | null> {
  const runs = new DueRuns(locks, name, options, job);
  const stopped = new AbortController();
  for (let looks = 1; ; looks++) {
    // Only this call recognises its claim. If the claim was written and this call gives up, the run is not made, or only as
    // a run that was cut.
    const mayLookAgain = (most: number): boolean => runs.unsure && looks < most;
    try {
      const [report, againMs, unclaimed] = await runs.next(stopped.signal);
      // Another run has the lock, or a hold of an earlier look of this call has not ended yet: that is over soon.
      const waitsOn = unclaimed ? looks < mostWaitsUnclaimed : mayLookAgain(mostWaits);
      if (report !== null || againMs > 0 || !waitsOn) return report;
    } catch (error) {
      if (!isPassing(error) || !mayLookAgain(mostLooks)) throw error;
    }
    await pause(runs.runtime, Math.min(longRestMs, restMs * 2 ** looks), { ref: true }).over;
  }
}

/**
 * The result of `runs.next()`: how a run has ended, or when to look again. `unclaimed`: the lock was not granted in time,
 * or was lost again, or the record was replaced before the claim, and what is due may still be claimed by no replica.
 */
type Step = readonly [report: RunReport | null, againMs: Millis, unclaimed?: boolean];

/** A claim as it was written. */
interface Claim {
  readonly text: string;
  readonly record: RunRecord;
  /** What the claim has replaced; `null` for an earlier claim of this replica that was found written. */
  readonly before: string | null;
}

/** One schedule, as one replica runs it. */
class DueRuns {
  readonly name: string;
  readonly runtime: Runtime;
  readonly #locks: LockProvider;
  readonly #record: SharedRecord;
  readonly #times: DueTimes;
  readonly #options: OncePerOptions;
  readonly #job: Job;
  readonly #by: string;
  /** Claims of this replica for which no answer came: they may have been written. */
  readonly #unsure = new Set<string>();
  /** The time before which there is no other warning of clocks, by the monotonic clock. */
  #warnOfClocksFromMs: Millis = Number.NEGATIVE_INFINITY;

  constructor(locks: LockProvider, name: string, options: OncePerOptions, job: Job) {
    check(options, job);
    this.name = name;
    this.runtime = options.runtime ?? systemRuntime;
    this.#locks = locks;
    this.#record = locks.record(recordName(name));
    this.#times = dueTimes(options.every);
    this.#options = options;
    this.#job = job;
    this.#by = options.by ?? `${hostname()}/${process.pid}`;
  }

  /** Whether there is a claim of which it is not known whether it was written. */
  get unsure(): boolean {
    return this.#unsure.size > 0;
  }

  /** Runs what is due, if another replica does not. Rejects with `BackendError` for trouble with the backend. */
  async next(stopped: AbortSignal): Promise<Step> {
    const seen = await look(this.#record);
    if (seen.record === null) {
      await this.#beBorn();
      return [null, 0];
    }
    this.#compareClocks(seen.record);
    const early = this.#wanted(seen.record);
    if (early === null) return [null, this.#untilDue(seen.record)];
    if (early.restMs > 0) return [null, early.restMs];
    // A run that is under way has the lock. A run that was cut has left the lock.
    let lock: LockHandle;
    try {
      lock = await this.#locks.mutex(`${recordName(this.name)}/lock`).acquire({ waitMs, signal: stopped });
    } catch (error) {
      if (!(error instanceof AcquireTimeoutError)) throw error;
      // A replica that runs the job has claimed it. A replica that died before its claim has the lock until its lease or
      // session ends.
      const unclaimed = seen.record.state !== "running" && (await look(this.#record)).text === seen.text;
      return [null, 0, unclaimed];
    }
    try {
      return await this.#underLock(lock, stopped);
    } finally {
      await lock.release().catch(() => {
        // The lock is lost, or ends by itself.
      });
    }
  }

  async #underLock(lock: LockHandle, stopped: AbortSignal): Promise<Step> {
    const seen = await look(this.#record);
    if (seen.record === null) return [null, 0];
    const wanted = this.#wanted(seen.record);
    if (wanted === null) return [null, this.#untilDue(seen.record)];
    if (wanted.restMs > 0) return [null, wanted.restMs];
    // This replica begins no more runs: another replica runs it.
    if (stopped.aborted) return [null, 0];
    // A session may have ended while the record was read. A claim would be written over the next session, and by default
    // no replica would ever run what it claims.
    if (lock.state === "lost") return [null, 0, true];
    const claimed = await this.#claim(seen, wanted);
    // Another replica may have claimed what is due. Or it has noted the end of an earlier run, which it does without the
    // lock where it lost the lock in that run.
    if (claimed === null) return [null, 0, true];
    if (await this.#takenBack(claimed, lock)) return [null, 0, true];
    return [await this.#run(lock, claimed), 0];
  }

  /** Makes the record, so that due times count from now on. Of several replicas that come first, only one writes it. */
  async #beBorn(): Promise<void> {
    const nowMs = this.runtime.wallMs();
    const born = {
      v: 1,
      due: nowMs,
      state: "born",
      claim: this.runtime.randomId(),
      attempt: 0,
      by: this.#by,
      at: nowMs,
    };
    await list(this.#locks, this.name);
    await this.#record.replace(null, JSON.stringify(born));
  }

  /** What is to be run, by the last run and the clock; `null`: nothing. */
  #wanted(
    last: RunRecord,
  ): { readonly dueMs: Millis; readonly attempt: number; readonly restMs: Millis } | null {
    const {
      catchUp = "latest",
      maxLateMs = Number.POSITIVE_INFINITY,
      ifCut = "leave",
      atLeastMs = 0,
    } = this.#options;
    const nowMs = this.runtime.wallMs();
    const rest = {
      restMs: last.state === "born" ? 0 : Math.max(0, Math.min(last.at, nowMs) + atLeastMs - nowMs),
    };
    const tooLate = last.due < nowMs - maxLateMs;
    if (last.state === "running" && !tooLate) {
      const { due: dueMs, attempt } = last;
      if (this.#unsure.has(last.claim)) return { dueMs, attempt, restMs: 0 };
      if (ifCut === "again") return { dueMs, attempt: attempt + 1, ...rest };
    }
    const fromMs = Math.max(last.due, nowMs - maxLateMs - 1);
    const dueMs = catchUp === "all" ? this.#times.after(fromMs) : lastDue(this.#times, fromMs, nowMs);
    return dueMs === null || dueMs > nowMs ? null : { dueMs, attempt: 1, ...rest };
  }

  /** The time until the next due time by the present clock, which may be set meanwhile. */
  #untilDue({ due }: RunRecord): Millis {
    const nowMs = this.runtime.wallMs();
    return Math.max(1, this.#times.after(Math.max(due, nowMs)) - nowMs);
  }

  /** `null` where another replica has replaced the record before. */
  async #claim(
    seen: SeenRecord,
    { dueMs, attempt }: { readonly dueMs: Millis; readonly attempt: number },
  ): Promise<Claim | null> {
    const { record: last, text: before } = seen;
    if (last !== null && before !== null && this.#unsure.delete(last.claim))
      return { text: before, record: last, before: null };
    const claim = this.runtime.randomId();
    const record: RunRecord = {
      v: 1,
      due: dueMs,
      state: "running",
      claim,
      attempt,
      by: this.#by,
      at: this.runtime.wallMs(),
    };
    const text = JSON.stringify(record);
    try {
      return (await this.#record.replace(before, text)) ? { text, record, before } : null;
    } catch (error) {
      // The claim may have been written, and then no other replica runs this due time.
      this.#unsure.add(claim);
      throw error;
    }
  }

  /**
   * Puts back what a claim has replaced where the lock was lost before the job could begin, so that the next holder of the
   * lock runs what is due. `false` where the lock is held, the record may still show the claim, or another replica has
   * replaced it.
   */
  async #takenBack({ text, before }: Claim, lock: LockHandle): Promise<boolean> {
    if (lock.state !== "lost" || before === null) return false;
    return await this.#record.replace(text, before).catch(() => false);
  }

  async #run(lock: LockHandle, { text, record }: Claim): Promise<RunReport> {
    const { name } = this;
    const due = new Date(record.due);
    const { attempt } = record;
    const began = new Date(this.runtime.wallMs());
    let failure: { readonly error: unknown } | undefined;
    try {
      // The answer to the claim may come after the end of the hold. Another replica may have the lock by then.
      if (lock.state === "lost") throw lock.lost.reason;
      await this.#job({ name, due, attempt, lock, signal: lock.lost });
    } catch (error) {
      failure = { error };
    }
    // `state` reads the clock. After a stop of the process the job may end before any timer has aborted the signal.
    const lost = lock.state === "lost";
    const ended = new Date(this.runtime.wallMs());
    const outcome = lost ? "lost" : failure === undefined ? "done" : "failed";
    const report: RunReport = { name, due, attempt, outcome, ...failure, began, ended };
    // A job that failed after it lost the lock was cut, and its record stays as it is. A job that ended well in spite of the
    // loss is noted.
    if (!(lost && failure !== undefined)) await this.#note(lock, text, record, report);
    this.#tell(report);
    return report;
  }

  /** Notes the end of the run. Tries until the lock is lost, because without the note the run looks like one that was cut. */
  async #note(lock: LockHandle, text: string, record: RunRecord, report: RunReport): Promise<void> {
    const { began, ended, outcome, error } = report;
    const noted = JSON.stringify({
      ...record,
      state: outcome === "failed" ? "failed" : "done",
      // The job may begin long after the claim, whose answer was late or lost, and `atLeastMs` counts from its begin.
      at: Math.max(record.at, began.getTime()),
      ended: ended.getTime(),
      ...(outcome === "failed" && { error: errorText(error) }),
    });
    for (let failures = 0; ; failures++) {
      try {
        await this.#record.replace(text, noted);
        return;
      } catch (cause) {
        if (!(cause instanceof BackendError || cause instanceof ProviderClosedError)) throw cause;
        // `remainingMs()` would be 0 also where the hold is only in doubt.
        const over = lock.state !== "held" && lock.state !== "uncertain";
        if (cause instanceof ProviderClosedError || over) return this.#warnNotNoted(record, cause);
      }
      await pause(this.runtime, Math.min(longRestMs, restMs * 2 ** failures), { ref: true }).over;
    }
  }

  #warnNotNoted({ due }: RunRecord, cause: Error): void {
    process.emitWarning(
      `the run of "${this.name}" that was due at ${new Date(due).toISOString()} has ended, and could not be noted: ${cause.message}`,
      { type: "HoldfastWarning", code: "HF_RUN_NOT_NOTED" },
    );
  }

  #tell(report: RunReport): void {
    const { onRun } = this.#options;
    if (onRun !== undefined) {
      // An error of the caller's function changes no outcome. An async function rejects instead of throwing.
      new Promise<void>((resolve) => resolve(onRun(report))).catch((error: unknown) => {
        process.emitWarning(`onRun of the schedule "${this.name}" threw: ${errorText(error)}`, {
          type: "HoldfastWarning",
        });
      });
    } else if (report.outcome === "failed") {
      process.emitWarning(
        `the run of "${this.name}" that was due at ${report.due.toISOString()} has failed: ${errorText(report.error)}`,
        { type: "HoldfastWarning", code: "HF_RUN_FAILED" },
      );
    }
  }

  /**
   * Warns of a clock that is ahead of ours. Due times are claimed in rising order only: after a claim by a clock that was
   * ahead, no replica runs anything until that time has come.
   */
  #compareClocks({ at, by, due }: RunRecord): void {
    const { clocksWithinMs = 500 } = this.#options;
    const wallMs = this.runtime.wallMs();
    const nowMs = this.runtime.nowMs();
    if (at - wallMs <= clocksWithinMs || nowMs < this.#warnOfClocksFromMs) return;
    this.#warnOfClocksFromMs = nowMs + warnAgainMs;
    const silence = `; no replica runs what is due until ${new Date(due).toISOString()}: correct the clock here, or delete the record ${JSON.stringify(recordName(this.name))} if the other clock was wrong`;
    process.emitWarning(
      `the clock of ${by}, which wrote the record of "${this.name}" last, is or was at least ${Math.round(at - wallMs)} ms ahead of the clock here; clocksWithinMs is ${clocksWithinMs}${due - wallMs > clocksWithinMs ? silence : ""}`,
      { type: "HoldfastWarning", code: "HF_SCHEDULE_CLOCKS" },
    );
  }
}

class ScheduleLoop {
  readonly #runs: DueRuns;
  readonly #stopped = new AbortController();
  readonly #ended: Promise<void>;
  #wake: () => void = () => {};

  constructor(runs: DueRuns) {
    this.#runs = runs;
    this.#ended = this.#loop();
  }

  stop(): Promise<void> {
    this.#stopped.abort(new Error(`the schedule "${this.#runs.name}" was stopped`));
    this.#wake();
    return this.#ended;
  }

  async #loop(): Promise<void> {
    const { signal } = this.#stopped;
    for (let failures = 0; !signal.aborted; ) {
      let againMs: Millis;
      try {
        [, againMs] = await this.#runs.next(signal);
        failures = 0;
      } catch (error) {
        if (signal.aborted || error instanceof ProviderClosedError) return;
        if (!isPassing(error) || failures === 8) this.#warn(error);
        againMs = Math.min(longRestMs, restMs * 2 ** Math.min(failures++, 8));
      }
      if (againMs > 0) await this.#rest(Math.min(lookAgainMs, againMs));
    }
  }

  #warn(error: unknown): void {
    process.emitWarning(
      `the schedule "${this.#runs.name}" cannot look for what is due, and tries again: ${errorText(error)}`,
      { type: "HoldfastWarning", code: "HF_SCHEDULE_STUCK" },
    );
  }

  #rest(delayMs: Millis): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#runs.runtime.setTimer(delayMs, resolve, { ref: true });
      this.#wake = () => {
        cancel();
        resolve();
      };
      if (this.#stopped.signal.aborted) this.#wake();
    });
  }
}

/** Whether an error is trouble that may be over at the next try. */
function isPassing(error: unknown): boolean {
  return error instanceof BackendError || error instanceof LockLostError;
}

const catchUps: readonly unknown[] = [undefined, "latest", "all"];
const ifCuts: readonly unknown[] = [undefined, "leave", "again"];
const knownKeys: ReadonlySet<string> = new Set<keyof OncePerOptions>([
  "every",
  "atLeastMs",
  "catchUp",
  "maxLateMs",
  "ifCut",
  "clocksWithinMs",
  "onRun",
  "by",
  "runtime",
]);

function check(options: OncePerOptions, job: unknown): void {
  if (typeof options !== "object" || options === null) {
    throw new InvalidArgumentError(`oncePer: options must be an object; got ${String(options)}`);
  }
  if (typeof job !== "function")
    throw new InvalidArgumentError(`oncePer: job must be a function; got ${String(job)}`);
  checkKnownKeys("oncePer", options, knownKeys);
  const { atLeastMs, maxLateMs, clocksWithinMs, catchUp, ifCut, onRun } = options;
  if (onRun !== undefined && typeof onRun !== "function")
    throw new InvalidArgumentError(`oncePer: onRun must be a function; got ${String(onRun)}`);
  for (const [key, value] of Object.entries({ atLeastMs, maxLateMs, clocksWithinMs })) {
    if (value !== undefined && !(typeof value === "number" && value >= 0)) {
      throw new InvalidArgumentError(`oncePer: ${key} must be milliseconds, 0 or more; got ${String(value)}`);
    }
  }
  if (!catchUps.includes(catchUp)) {
    throw new InvalidArgumentError(`oncePer: catchUp must be "latest" or "all"; got ${String(catchUp)}`);
  }
  if (!ifCuts.includes(ifCut)) {
    throw new InvalidArgumentError(`oncePer: ifCut must be "leave" or "again"; got ${String(ifCut)}`);
  }
}
