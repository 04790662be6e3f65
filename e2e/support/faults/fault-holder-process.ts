import { eventually } from "@holdfast/test-servers";
import { buildPackages, emit } from "../process/emit.js";
import { LineProcess, processState } from "../process/line-process.js";

const answerWithinMs = 30_000;

/** What happened to one holder in the process. Times are nanoseconds of CLOCK_MONOTONIC. */
export interface Journal {
  /** The events `uncertain`, `recovered` and `lost`, in order. */
  readonly told: readonly string[];
  /** How many writes `assertHeld()` let pass, and when the last of them was checked. */
  readonly writes: number;
  readonly lastWriteNs: bigint;
  /** When `assertHeld()` threw for the first time, and the name of that error; 0 and empty before. */
  readonly firstThrowNs: bigint;
  readonly thrown: string;
}

export interface Blocked {
  readonly beganNs: bigint;
  readonly resumedNs: bigint;
  /** The result of one write of each holder in the tick in which the loop resumed: `written`, or the error's name. */
  readonly outcomes: readonly string[];
}

/** The state of one waiter in the process. Times are nanoseconds of CLOCK_MONOTONIC, 0 before the grant. */
export interface WaiterReport {
  /** Whether it knows its place in the queue. */
  readonly queued: boolean;
  /** How often it lost its place together with its session. */
  readonly requeued: number;
  readonly grantedNs: bigint;
  readonly token: bigint;
}

/** The program of `HolderProcess`, built once for many. */
export interface HolderProgram extends AsyncDisposable {
  start(): Promise<HolderProcess>;
}

export async function holderProgram(): Promise<HolderProgram> {
  await buildPackages();
  const emitted = await emit("support/faults/fault-holder");
  return {
    start: async () => {
      const lines = new LineProcess(process.execPath, [emitted.file]);
      try {
        await lines.event("start", (event) => event === "started", answerWithinMs);
      } catch (error) {
        await lines.kill();
        throw error;
      }
      return new HolderProcess(lines);
    },
    [Symbol.asyncDispose]: () => emitted[Symbol.asyncDispose](),
  };
}

/**
 * Holders and waiters in a process of their own, over the built packages. It can be blocked and stopped. See `fault-holder.ts`.
 */
export class HolderProcess {
  readonly #lines: LineProcess;

  constructor(lines: LineProcess) {
    this.#lines = lines;
  }

  /** Makes one provider and one hold for each path, all of which work at once. Resolves to the tokens. */
  async hold(connect: string, sessionTimeoutMs: number, paths: readonly string[]): Promise<bigint[]> {
    const tokens = await this.#lines.request(
      "hold",
      [connect, String(sessionTimeoutMs), ...paths],
      answerWithinMs,
    );
    await this.#lines.request("work", [], answerWithinMs);
    return tokens.map(BigInt);
  }

  /** Makes one provider and one waiter for each path. */
  async wait(connect: string, sessionTimeoutMs: number, paths: readonly string[]): Promise<void> {
    await this.#lines.request("wait", [connect, String(sessionTimeoutMs), ...paths], answerWithinMs);
  }

  async waiters(): Promise<WaiterReport[]> {
    const values = await this.#lines.request("waiters", [], answerWithinMs);
    const reports: WaiterReport[] = [];
    for (let at = 0; at < values.length; at += 4) {
      const [queued, requeued = "", grantedNs = "", token = ""] = values.slice(at);
      reports.push({
        queued: queued === "queued",
        requeued: Number(requeued),
        grantedNs: BigInt(grantedNs),
        token: BigInt(token),
      });
    }
    return reports;
  }

  /** Keeps the event loop busy for `forMs`; resolves after that. */
  async block(forMs: number): Promise<Blocked> {
    const values = await this.#lines.request("block", [String(forMs)], forMs + answerWithinMs);
    const [beganNs = "", resumedNs = "", ...outcomes] = values;
    return { beganNs: BigInt(beganNs), resumedNs: BigInt(resumedNs), outcomes };
  }

  /** Resolves when the event loop stands still because of `block`. To be called before `block`. */
  async blocked(): Promise<void> {
    await this.#lines.event(
      "word that the loop stands still",
      (event) => event === "blocked",
      answerWithinMs,
    );
  }

  /** Sends SIGSTOP. Resolves when the process no longer runs. */
  async stop(): Promise<void> {
    this.#lines.signal("SIGSTOP");
    await eventually(() => processState(this.#lines.pid) === "T", {
      what: "the process to stop",
      everyMs: 1,
    });
  }

  resume(): void {
    this.#lines.signal("SIGCONT");
  }

  async journals(): Promise<Journal[]> {
    const values = await this.#lines.request("journal", [], answerWithinMs);
    const journals: Journal[] = [];
    for (let at = 0; at < values.length; at += 5) {
      const [told = "", writes = "", lastWriteNs = "", firstThrowNs = "", thrown = ""] = values.slice(at);
      journals.push({
        told: told === "" ? [] : told.split(" "),
        writes: Number(writes),
        lastWriteNs: BigInt(lastWriteNs),
        firstThrowNs: BigInt(firstThrowNs),
        thrown,
      });
    }
    return journals;
  }

  /** Each old provider takes its lock again and releases it. Resolves to the tokens. */
  async holdAgain(): Promise<bigint[]> {
    return (await this.#lines.request("again", [], answerWithinMs)).map(BigInt);
  }

  async close(): Promise<void> {
    try {
      await this.#lines.request("close", [], answerWithinMs);
    } finally {
      await this.#lines.end(5_000);
    }
  }
}
