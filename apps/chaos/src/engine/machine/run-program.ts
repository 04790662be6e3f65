import { spawn } from "node:child_process";

/** A program of this machine failed. */
export class ProgramError extends Error {
  override readonly name: string = "ProgramError";
  /** Its exit code; null if it was not found, or was ended by a signal. */
  readonly code: number | null;

  constructor(message: string, code: number | null) {
    super(message);
    this.code = code;
  }
}

export interface RunOptions {
  /** The text for its standard input; default nothing. */
  readonly input?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** After this time it is killed, which counts as a failure. In milliseconds; default 10,000. */
  readonly withinMs?: number;
  /** The name by which the program is called. */
  readonly argv0?: string;
}

const keptOutput = 65_536;

/**
 * Runs a program to its end and resolves with its standard output.
 * @throws ProgramError if the program does not exist, fails or takes too long. The message contains the end of its
 * output.
 */
export function runProgram(
  program: string,
  args: readonly string[],
  options: RunOptions = {},
): Promise<string> {
  const withinMs = options.withinMs ?? 10_000;
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      stdio: ["pipe", "pipe", "pipe"],
      ...(options.env === undefined ? {} : { env: options.env }),
      ...(options.argv0 === undefined ? {} : { argv0: options.argv0 }),
    });
    const said = { out: "", err: "" };
    child.stdout.on("data", (bytes: Buffer) => {
      said.out = (said.out + bytes.toString()).slice(-keptOutput);
    });
    child.stderr.on("data", (bytes: Buffer) => {
      said.err = (said.err + bytes.toString()).slice(-keptOutput);
    });
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      child.kill("SIGKILL");
    }, withinMs);
    child.on("error", (error) => {
      clearTimeout(timer);
      reject(new ProgramError(`${program} does not start: ${error.message}`, null));
    });
    child.on("close", (code, signal) => {
      clearTimeout(timer);
      if (code === 0) return resolve(said.out);
      const end = late ? `took more than ${withinMs} ms` : `ended with ${code ?? signal}`;
      const words = `${program} ${args.join(" ")}`.slice(0, 200);
      const last = `${said.out}\n${said.err}`.trim().slice(-1_000);
      reject(new ProgramError(`${words} ${end}${last === "" ? "" : `: ${last}`}`, code));
    });
    // If a program ends without having read everything, its output says why.
    child.stdin.on("error", () => {});
    child.stdin.end(options.input ?? "");
  });
}
