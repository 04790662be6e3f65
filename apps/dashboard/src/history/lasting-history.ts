import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import type { EarlierSight } from "@holdfast/collectors";
import { ConfigError } from "../config/config-error.js";
import type { OwnFinding } from "../core/own-findings.js";
import { ProblemError } from "../core/problems.js";
import type { GroupRule } from "../exporter/group-rules.js";
import type {
  AnswerTo,
  Change,
  FromWorker,
  OpenHold,
  Question,
  StoreStatus,
  ToWorker,
  WorkerOptions,
} from "./messages.js";
import { addressName } from "./records.js";

/** Where the history is kept. */
export interface HistoryOptions {
  /** One file, with a second one beside it whose name ends in `-wal`. Only its owner has access to it. */
  readonly file: string;
  /** The most megabytes that both may take together; default 256, least 16. */
  readonly maxMegabytes?: number;
  /** Groups of locks by their names, as for the metrics. Default: what varies becomes `*`. */
  readonly groups?: readonly GroupRule[];
}

/** What happened to locks, in a file that outlasts the process. */
export interface History {
  /**
   * What the process before saw of a hold of this cluster, for the option `earlierSight` of a collector. Answers once
   * for each hold.
   */
  earlierSight(cluster: string, key: string, entry: string): EarlierSight | undefined;
  /**
   * Writes what waits. Resolves after 5,000 ms at the latest. A thread that hangs on the disk is then left alone: a
   * thread that is ended within SQLite takes the whole process along.
   */
  close(): Promise<void>;
}

/**
 * Opens the file of a history in a thread of its own, or makes it. Rejects with `ConfigError` that names the file, if
 * the file is no history, is of a newer dashboard, is in use or cannot be written. Rejects also if the package `libsql`
 * is not there.
 */
export function openHistory(options: HistoryOptions): Promise<History> {
  return LastingHistory.open(options);
}

/** The history that `openHistory` gave. @throws ConfigError for anything else */
export function lastingHistory(history: History | undefined): LastingHistory | undefined {
  if (history === undefined || history instanceof LastingHistory) return history;
  throw new ConfigError("history: must come from openHistory() of this copy of @holdfast/dashboard");
}

const usualMegabytes = 256;
const leastMegabytes = 16;
const openMs = 20_000;
const closeMs = 5_000;
/** Changes are written together, this long after the first of them. */
const writeEveryMs = 500;
/** The most changes in one message. If more wait, they are not delayed for the next half second. */
const mostInMessage = 5_000;
/**
 * The most changes that wait, for instance when the holds of 100,000 locks are found at the start. Changes beyond that
 * are counted and lost.
 */
const mostWaiting = 200_000;
const mostQuestions = 16;
/**
 * The size limit of the thread's young generation, so that the garbage of messages is collected soon. By default the
 * thread would take 48 MB for it.
 */
const youngMegabytes = 4;
const answerMs = 2_000;

interface Asked {
  readonly resolve: (answer: never) => void;
  readonly reject: (error: ProblemError) => void;
  readonly timer: NodeJS.Timeout;
}

/**
 * What happened to locks, in a file that outlasts the process. A thread of its own has the file. Here is a queue with a
 * bound, so that neither a slow disk nor a full one holds anything up. The end of the process loses what is younger
 * than about half a second.
 */
export class LastingHistory implements History {
  readonly #file: string;
  readonly #worker: Worker;
  readonly #left: Map<string, OpenHold>;
  readonly #asked = new Map<number, Asked>();
  #waiting: Change[] = [];
  #dropped = 0;
  #timer: NodeJS.Timeout | undefined;
  /** True while a message of changes is under way. */
  #writing = false;
  #status: StoreStatus;
  #lastId = 0;
  #closed: Promise<void> | undefined;
  /** True when the thread has ended. */
  #isOver = false;
  #failingSinceMs: number | null = null;

  private constructor(file: string, worker: Worker, open: readonly OpenHold[], status: StoreStatus) {
    this.#file = file;
    this.#worker = worker;
    this.#left = new Map(open.map((each) => [addressName(each), each]));
    this.#status = status;
    worker.on("message", (message: FromWorker) => this.#heard(message));
    worker.on("error", (error: Error) => this.#over(`its thread has ended: ${error.message}`));
    worker.on("exit", () => this.#over("its thread has ended"));
    worker.unref();
  }

  /** Does what `openHistory` does. */
  static async open({
    file,
    maxMegabytes = usualMegabytes,
    groups = [],
  }: HistoryOptions): Promise<LastingHistory> {
    if (!(maxMegabytes >= leastMegabytes))
      throw new ConfigError(`history.maxMegabytes: must be a number, ${leastMegabytes} or more`);
    const workerData: WorkerOptions = { file, maxBytes: maxMegabytes * 1_048_576, groups };
    const resourceLimits = { maxYoungGenerationSizeMb: youngMegabytes };
    const worker = new Worker(workerFile(), { workerData, execArgv: [], resourceLimits });
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        clearTimeout(timer);
        worker.off("message", answered).off("error", failed).off("exit", ended);
      };
      const refuse = (why: string): void => {
        settle();
        // It ends by itself: a thread that is ended within SQLite takes the whole process along.
        worker.on("error", () => {}).unref();
        worker.postMessage({ type: "close" } satisfies ToWorker);
        reject(new ConfigError(`history.file: ${why}`));
      };
      const answered = (message: FromWorker): void => {
        if (message.type !== "opened")
          return refuse(message.type === "refused" ? message.message : `${file} cannot be opened`);
        settle();
        resolve(new LastingHistory(file, worker, message.open, message.status));
      };
      const failed = (error: Error): void => refuse(`${file} cannot be opened: ${error.message}`);
      const ended = (): void => refuse(`${file} cannot be opened: the thread for it has ended`);
      const timer = setTimeout(() => refuse(`${file} could not be opened within ${openMs} ms`), openMs);
      worker.on("message", answered).on("error", failed).on("exit", ended);
    });
  }

  /** The state of the file as of the last write, and how much was lost. */
  get status(): StoreStatus {
    return { ...this.#status, dropped: this.#status.dropped + this.#dropped };
  }

  /** What an operator should look at: that the history cannot be written. */
  findings(): OwnFinding[] {
    const { failure, dropped } = this.status;
    if (failure === null) {
      this.#failingSinceMs = null;
      return [];
    }
    this.#failingSinceMs ??= Date.now();
    const lost = dropped === 0 ? "" : `; ${dropped} changes were not recorded`;
    return [
      {
        kind: "history-failing",
        object: this.#file,
        sinceMs: this.#failingSinceMs,
        evidence: `The history cannot be written: ${failure}${lost}.`,
        advice: this.#isOver
          ? "Restart the dashboard: nothing is recorded until then."
          : "Locks are watched as before. Make room on the disk or mend it; what waits in memory is written then, and what does not fit there is lost.",
      },
    ];
  }

  earlierSight(cluster: string, key: string, entry: string): EarlierSight | undefined {
    const name = addressName({ cluster, key, entry });
    const left = this.#left.get(name);
    if (left === undefined) return undefined;
    this.#left.delete(name);
    return { atMs: left.sinceMs, token: left.token };
  }

  /** Takes a change, which is written within about half a second. */
  add(change: Change): void {
    if (this.#isOver || this.#closed !== undefined || this.#waiting.length >= mostWaiting) {
      this.#dropped += 1;
      return;
    }
    this.#waiting.push(change);
    this.#writeLater();
  }

  /** Rejects with `ProblemError` if 16 questions wait already, or if there is no answer within 2,000 ms. */
  async ask<Q extends Question>(question: Q): Promise<AnswerTo<Q>> {
    if (this.#closed !== undefined) throw unanswered("the history is closed");
    if (this.#isOver) throw unanswered(this.#status.failure ?? "its thread has ended");
    if (this.#asked.size >= mostQuestions)
      throw unanswered("too many ask the history at the same time; try again");
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#asked.delete(id);
        reject(unanswered("the history did not answer in time"));
      }, answerMs);
      this.#asked.set(id, { resolve, reject, timer });
      this.#send({ type: "question", id, question, untilMs: Date.now() + answerMs });
    });
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    clearTimeout(this.#timer);
    const ended = new Promise<void>((resolve) => this.#worker.once("exit", () => resolve()));
    while (this.#waiting.length > 0) this.#sendChanges();
    this.#send({ type: "close" });
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, closeMs);
    });
    await Promise.race([ended, late]);
    clearTimeout(timer);
    this.#over("the history is closed");
  }

  #writeLater(): void {
    if (this.#writing || this.#timer !== undefined) return;
    const delayMs = this.#waiting.length >= mostInMessage ? 0 : writeEveryMs;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#writing = true;
      this.#sendChanges();
    }, delayMs);
    this.#timer.unref();
  }

  #sendChanges(): void {
    const changes = this.#waiting.splice(0, mostInMessage);
    this.#send({ type: "changes", changes, dropped: this.#dropped });
    this.#dropped = 0;
  }

  #send(message: ToWorker): void {
    this.#worker.postMessage(message);
  }

  #heard(message: FromWorker): void {
    switch (message.type) {
      case "written":
        this.#status = message.status;
        this.#writing = false;
        if (this.#waiting.length > 0 && this.#closed === undefined) this.#writeLater();
        return;
      case "answer":
        this.#settle(message.id, ({ resolve }) => resolve(message.answer as never));
        return;
      case "unanswered":
        this.#settle(message.id, ({ reject }) => reject(unanswered(message.message)));
    }
  }

  #settle(id: number, end: (asked: Asked) => void): void {
    const asked = this.#asked.get(id);
    if (asked === undefined) return;
    this.#asked.delete(id);
    clearTimeout(asked.timer);
    end(asked);
  }

  /** From now on nothing is written. The changes that wait, and each later one, are counted as lost. */
  #over(why: string): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#dropped += this.#waiting.length;
    this.#waiting = [];
    this.#status = { ...this.#status, failure: why };
    for (const id of [...this.#asked.keys()]) this.#settle(id, ({ reject }) => reject(unanswered(why)));
  }
}

function unanswered(why: string): ProblemError {
  return new ProblemError(503, "history-busy", why);
}

/** The worker beside this module. For the sources, whose worker Node.js cannot run, it is the built one. */
function workerFile(): URL {
  const beside = new URL("./worker.js", import.meta.url);
  return existsSync(fileURLToPath(beside))
    ? beside
    : new URL("../../dist/history/worker.js", import.meta.url);
}
