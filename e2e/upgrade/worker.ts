import { fileURLToPath } from "node:url";
import { buildPackages } from "../support/process/emit.js";
import { LineProcess } from "../support/process/line-process.js";
import type { Witness } from "./witness.js";

export type Side = "old" | "present";
export type Backend = "zookeeper" | "redis" | "redlock";

const file = fileURLToPath(new URL("worker.mjs", import.meta.url));
const answerWithinMs = 90_000;

/** A process with the locks of one side. */
export class Worker {
  readonly side: Side;
  readonly #lines: LineProcess;
  #plainSemaphore = false;

  private constructor(side: Side, lines: LineProcess) {
    this.side = side;
    this.#lines = lines;
  }

  static async start(side: Side, backend: Backend, options: object, witness: Witness): Promise<Worker> {
    const lines = new LineProcess(process.execPath, [file]);
    const worker = new Worker(side, lines);
    lines.listen((event, [hold = "", name = "", mode = "", token = ""]) => {
      if (event !== "in" && event !== "out") return;
      witness[event]({ holder: `${side} ${lines.pid}`, name, mode, token });
      // When a worker ends before it answers, the witness records that as a fault.
      lines.request("pass", [hold], answerWithinMs).catch((error) => witness.unanswered(lines.pid, error));
    });
    try {
      const [plain] = await worker.ask("connect", side, backend, JSON.stringify(options));
      worker.#plainSemaphore = plain === "true";
    } catch (error) {
      await lines.kill();
      throw error;
    }
    return worker;
  }

  /** Whether there is a `plainSemaphore()`. Then `semaphore()` on Redis is another kind than the plain number of before. */
  get hasPlainSemaphore(): boolean {
    return this.#plainSemaphore;
  }

  ask(command: string, ...args: string[]): Promise<string[]> {
    return this.#lines.request(command, args, answerWithinMs);
  }

  kill(): Promise<void> {
    return this.#lines.kill();
  }

  async close(): Promise<void> {
    try {
      await this.ask("close");
    } finally {
      await this.#lines.end(5_000);
    }
  }
}

/** Builds the present side, which is what users install, from this tree. */
export async function buildPresentSide(): Promise<void> {
  await buildPackages("@holdfast/zk-recipes", "@holdfast/redis-recipes", "@holdfast/multi-lock");
}
