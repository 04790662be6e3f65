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
  /** Whether the connection is trusted, and leads to the master that all other requests go to. */
  open(): boolean;
  /** Asked while `open()`, when what the policy needs to know is known. */
  refusal(wait: WaitRequest): PolicyRefusal | null;
}

interface Item {
  readonly run: ScriptRun;
  readonly wait: WaitRequest;
  readonly untilMs: Millis;
  /** It may have run: only what is written behind it was forgotten, and the two are sent again together. */
  readonly sent: boolean;
  resolve(result: RunResult): void;
}

/**
 * Runs that are followed by WAIT. A server takes nothing else from a connection that waits, so they have one of their own, and all
 * that come while one is waiting go together, with one WAIT behind them: a replica that is gone costs its time-out once or
 * twice, not once for each run. WAIT counts replicas that have everything that this connection wrote before it, so its count holds for
 * each; a run that writes nothing is followed by one that does.
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

  /** Never rejects. Waits a moment for the connection, which is made beside the other one. */
  run(run: ScriptRun, wait: WaitRequest): Promise<RunResult> {
    return new Promise((resolve) => {
      const { runtime, times } = this.#options;
      const untilMs = runtime.nowMs() + times.commandTimeoutMs;
      const item: Item = { run, wait, untilMs, sent: false, resolve };
      // Now, not behind the WAIT that may be under way.
      if (this.#options.open() && this.#refused(item)) return;
      this.#queue.push(item);
      if (this.#closed) this.#giveUp(Infinity);
      else this.pump();
    });
  }

  /** Called when `open()` may have become true as well. */
  pump(): void {
    if (this.#busy || this.#queue.length === 0) return;
    if (this.#options.open() && !this.#closed) {
      this.#cancelGiveUp?.();
      this.#cancelGiveUp = undefined;
      // Runs that came before anything was known of this server are looked at too: none may run and be refused afterwards.
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
      // Both are asked, since each keeps account of its own script.
      if (forgotten(this.connection, writing, written) || ranNot)
        again.push({ ...item, sent: item.sent || !ranNot });
      else item.resolve(result(flight, item.sent ? unsure(outcome) : outcome, written));
    }
    // First, as they were first.
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

/** Of a run that may have run in a flight before: no error of a later one says that nothing was done. */
function unsure(outcome: Outcome): Outcome {
  if (!("error" in outcome)) return outcome;
  const { error } = outcome;
  const why = `it may have run before it was sent again: ${error.message}`;
  return { error: new OutcomeUnknownError(why, { servers: error.servers, cause: error }) };
}

/** A run whose WAIT has no count is not known to be anywhere but on the master: that is an unknown outcome too. */
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
