import type { Millis, Runtime } from "@holdfast/core";
import { writeAgain } from "../scripts/write-again.js";
import type { Command, Flight, Outcome } from "./commands.js";
import { NotSentError, OutcomeUnknownError } from "./errors.js";
import type { NodeConnection } from "./node-connection.js";
import type { WaitRequest } from "./redis-line.js";
import {
  forgotten,
  type PolicyRefusal,
  type RunResult,
  type ScriptRun,
  scriptCommand,
} from "./script-command.js";
import type { LinkTimes } from "./settings.js";

export interface AckedRunsOptions {
  readonly connection: NodeConnection;
  readonly runtime: Runtime;
  readonly times: LinkTimes;
  /** Whether the connection is trusted and leads to the same master as the connection for all other requests. */
  open(): boolean;
  /**
   * Why a run must not be sent; `null` when it may be. Called only while `open()` is true, since only then the number of replicas
   * is known.
   */
  refusal(wait: WaitRequest): PolicyRefusal | null;
}

interface Item {
  readonly run: ScriptRun;
  readonly wait: WaitRequest;
  readonly untilMs: Millis;
  /**
   * The run was sent before and may have been executed: the server forgot only the script of the write behind it. Both are sent
   * again together.
   */
  readonly sent: boolean;
  resolve(result: RunResult): void;
}

/**
 * Runs scripts that are followed by WAIT. A server handles no other command of a connection that waits, so these runs have a
 * connection of their own. All runs that arrive while one WAIT is pending are sent together afterwards, with one WAIT behind
 * them. A replica that is gone therefore costs its time-out once or twice, and not once for each run.
 *
 * WAIT counts the replicas that have everything which this connection wrote before it, so one count holds for each run. Behind
 * each run `writeAgain` is sent, since the run itself may write nothing.
 */
export class AckedRuns {
  readonly connection: NodeConnection;
  readonly #options: AckedRunsOptions;
  #queue: Item[] = [];
  #busy = false;
  #closed = false;
  #cancelGiveUp: (() => void) | undefined;

  constructor(options: AckedRunsOptions) {
    this.connection = options.connection;
    this.#options = options;
  }

  /** Never rejects. Waits up to `commandTimeoutMs` for this connection, which is opened beside the connection for commands. */
  run(run: ScriptRun, wait: WaitRequest): Promise<RunResult> {
    return new Promise((resolve) => {
      const { runtime, times } = this.#options;
      const untilMs = runtime.nowMs() + times.commandTimeoutMs;
      const item: Item = { run, wait, untilMs, sent: false, resolve };
      // Refuse now, and not only after a WAIT that may be pending.
      if (this.#options.open() && this.#refused(item)) return;
      this.#queue.push(item);
      if (this.#closed) this.#giveUp(Infinity);
      else this.pump();
    });
  }

  /** To be called also when `open()` may have become true. */
  pump(): void {
    if (this.#busy || this.#queue.length === 0) return;
    if (this.#options.open() && !this.#closed) {
      this.#cancelGiveUp?.();
      this.#cancelGiveUp = undefined;
      // Runs may have been queued before anything was known of this server. Check them too, so that no run is executed and then
      // refused.
      this.#queue = this.#queue.filter((item) => !this.#refused(item));
      if (this.#queue.length > 0) void this.#fly();
    } else {
      this.#giveUpLater();
    }
  }

  close(): void {
    this.#closed = true;
    this.#cancelGiveUp?.();
    this.#giveUp(Infinity);
  }

  async #fly(): Promise<void> {
    this.#busy = true;
    const items = this.#queue;
    this.#queue = [];
    const commands: Command[] = [];
    const send = (run: ScriptRun): number => {
      if (run.asking) commands.push(["asking"]);
      return commands.push(scriptCommand(this.connection, run)) - 1;
    };
    const sent = items.map((item) => {
      const writing: ScriptRun = { ...item.run, script: writeAgain, args: [] };
      return { item, writing, at: send(item.run), writingAt: send(writing) };
    });
    const replicas = items.reduce((most, { wait }) => Math.max(most, wait.replicas), 0);
    commands.push(["wait", replicas, items.reduce((most, { wait }) => Math.max(most, wait.timeoutMs), 0)]);
    const flight = await this.connection.flight(commands);
    const again: Item[] = [];
    for (const { item, writing, at, writingAt } of sent) {
      const outcome = flight.outcomes[at] ?? unanswered;
      const written = flight.outcomes[writingAt] ?? unanswered;
      const ranNot = forgotten(this.connection, item.run, outcome);
      // Call `forgotten` for both outcomes, since each call also updates what is known of its own script.
      if (forgotten(this.connection, writing, written) || ranNot)
        again.push({ ...item, sent: item.sent || !ranNot });
      else item.resolve(result(flight, item.sent ? unsure(outcome) : outcome, written));
    }
    // These go to the front, since they came first.
    this.#queue = [...again, ...this.#queue];
    this.#busy = false;
    if (this.#closed) this.#giveUp(Infinity);
    else this.pump();
  }

  #refused({ wait, sent, resolve }: Item): boolean {
    const { runtime, refusal } = this.#options;
    const error = sent ? null : refusal(wait);
    if (error === null) return false;
    const nowMs = runtime.nowMs();
    resolve({ outcome: { error }, sentMs: nowMs, answeredMs: nowMs, runId: "", acknowledged: null });
    return true;
  }

  #giveUpLater(): void {
    if (this.#cancelGiveUp !== undefined) return;
    const nextMs = this.#queue.reduce((least, { untilMs }) => Math.min(least, untilMs), Infinity);
    this.#cancelGiveUp = this.#options.runtime.setTimer(
      Math.max(0, Math.ceil(nextMs - this.#options.runtime.nowMs())),
      () => {
        this.#cancelGiveUp = undefined;
        this.#giveUp(this.#options.runtime.nowMs());
        this.pump();
      },
    );
  }

  #giveUp(nowMs: Millis): void {
    const over = this.#queue.filter((item) => item.untilMs <= nowMs);
    this.#queue = this.#queue.filter((item) => item.untilMs > nowMs);
    const error = new NotSentError("there is no connection for writes that wait for replicas", {
      servers: this.connection.servers,
      cause: this.connection.lastCause,
    });
    const sentMs = this.#options.runtime.nowMs();
    for (const item of over) {
      const outcome = item.sent ? unsure({ error }) : { error };
      item.resolve({ outcome, sentMs, answeredMs: sentMs, runId: "", acknowledged: null });
    }
  }
}

const unanswered: Outcome = {
  error: new OutcomeUnknownError("it has no answer", { servers: [] }),
};

/**
 * For a run that an earlier flight may have executed. An error of a later flight does not show that nothing was done, so the
 * outcome is unknown.
 */
function unsure(outcome: Outcome): Outcome {
  if (!("error" in outcome)) return outcome;
  const { error } = outcome;
  const why = `it may have run before it was sent again: ${error.message}`;
  return { error: new OutcomeUnknownError(why, { servers: error.servers, cause: error }) };
}

/** Without a count from WAIT, only the master is known to have the write. That is an unknown outcome too. */
function result(flight: Flight, outcome: Outcome, written: Outcome): RunResult {
  const { sentMs, answeredMs, runId, outcomes } = flight;
  const waited = "error" in written ? written : (outcomes[outcomes.length - 1] ?? unanswered);
  const base = { sentMs, answeredMs, runId };
  if ("error" in outcome) return { ...base, outcome, acknowledged: null };
  if ("error" in waited) {
    const { error } = waited;
    return {
      ...base,
      outcome: {
        error: new OutcomeUnknownError(`it was executed, but WAIT has no count: ${error.message}`, {
          servers: error.servers,
          cause: error,
        }),
      },
      acknowledged: null,
    };
  }
  return { ...base, outcome, acknowledged: Number(waited.reply) };
}
