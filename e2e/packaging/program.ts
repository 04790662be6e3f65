import { type ChildProcess, spawn } from "node:child_process";
import { eventually } from "@holdfast/test-servers";
import { onTestFinished } from "vitest";

export interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** The time from its last line of output to its end. */
  readonly afterLastLineMs: number;
}

/** One Node.js process that runs a file. If it has not ended by the end of the test, it is killed. */
export class Program {
  readonly child: ChildProcess;
  readonly ended: Promise<Ending>;
  output = "";
  errors = "";
  #lastLineMs = performance.now();

  private constructor(file: string, cwd: string, args: readonly string[], env: NodeJS.ProcessEnv) {
    this.child = spawn(process.execPath, [file, ...args], { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
    this.child.stdout?.on("data", (data: Buffer) => {
      this.output += data.toString();
      this.#lastLineMs = performance.now();
    });
    this.child.stderr?.on("data", (data: Buffer) => {
      this.errors += data.toString();
    });
    this.ended = new Promise((resolve, reject) => {
      this.child.on("error", reject);
      this.child.on("close", (code, signal) => {
        resolve({ code, signal, afterLastLineMs: performance.now() - this.#lastLineMs });
      });
    });
  }

  static start(file: string, cwd: string, args: readonly string[] = [], env = process.env): Program {
    const program = new Program(file, cwd, args, env);
    onTestFinished(() => void program.child.kill("SIGKILL"));
    return program;
  }

  get lines(): string[] {
    return this.output.split("\n").filter((line) => line !== "");
  }

  async says(line: string): Promise<void> {
    await this.#saysOne((each) => each === line, line);
  }

  /** Resolves with the first line that begins with `start`. */
  async saysWith(start: string): Promise<string> {
    return await this.#saysOne((each) => each.startsWith(start), start);
  }

  async #saysOne(fits: (line: string) => boolean, what: string): Promise<string> {
    return await eventually(() => this.lines.find(fits), {
      what: `the program to say ${what}`,
      withinMs: 20_000,
      detail: () => this.output + this.errors,
    });
  }

  /** Waits for its end; rejects if it does not end by itself within the limit. */
  async end(withinMs = 20_000): Promise<Ending> {
    let ending: Ending | null = null;
    this.ended.then(
      (it) => {
        ending = it;
      },
      () => {},
    );
    return eventually(() => ending, {
      what: "the program to end by itself",
      withinMs,
      detail: () => this.output + this.errors,
    });
  }
}
