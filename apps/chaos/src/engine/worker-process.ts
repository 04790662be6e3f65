import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import type { FromWorker, ToWorker } from "../workload/protocol.js";

// The worker keeps the shell's pid, so that signals reach it. A watchdog beside it reads from a pipe that only the
// runner holds open. The kernel closes the pipe however the runner dies; the watchdog then kills the worker, which
// could not notice this by itself while it stands still. A line on the pipe says that the worker has ended. An
// interrupt from a terminal reaches the whole group and is ignored here: the runner decides what its workers do then.
const leash = (target: string): string => `
trap '' INT
(trap '' HUP TERM; read -r _ <&3 || { kill -CONT ${target}; kill -KILL ${target}; }) </dev/null >/dev/null 2>&1 4>&- &
exec "$@" 3<&-
`;

/** The program to run as a worker. */
export interface WorkerProgram {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Set for a user's service, which reports what it does through the probe, and reads nothing. */
  readonly service?: ServiceAbout;
}

export interface ServiceAbout {
  /** Variables for its environment, with placeholders: `{redis}`, `{zookeeper}`, `{host}`, `{port}`, `{n}`. */
  readonly env: Readonly<Record<string, string>>;
  /** A URL that answers with 200 once the service serves. `null`: the service is ready when its probe sends its first message. */
  readonly ready: string | null;
  readonly keys: readonly string[];
  /** One port for each instance. */
  readonly ports: readonly number[];
}

export interface WorkerEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/**
 * How long to wait for the end of the output after the worker's exit. A process that the worker has started may hold
 * the output open. Everything that the worker itself sent has been read by then.
 */
const readsOnMs = 5_000;

/** The descriptor at which the probe of a service writes its records. */
export const probeFd = 4;

/** One worker: a process that reads lines and writes lines. It does not outlive the runner, however the runner ends. */
export class WorkerProcess {
  readonly p: string;
  readonly pid: number;
  readonly exited: Promise<WorkerEnd>;
  /** Whether the worker is a user's service. */
  readonly isService: boolean;
  readonly #child: ChildProcess;
  readonly #stdin: Writable;
  readonly #logFile: string;
  #end: WorkerEnd | null = null;

  /** `onWord` receives every line, parsed. A line that is no JSON object is passed on as a failure of the worker. */
  constructor(p: string, program: WorkerProgram, logFile: string, onWord: (word: FromWorker) => void) {
    this.p = p;
    this.#logFile = logFile;
    const log = openSync(logFile, "a");
    const isService = program.service !== undefined;
    const child = spawn(
      "/bin/sh",
      ["-c", leash(isService ? "-$$" : "$$"), "sh", program.command, ...program.args],
      {
        env: { ...process.env, ...program.env },
        // A service may write anything to standard output, so its probe has a pipe of its own.
        // A service may start other processes, which have to end with it, so it has a group of its own.
        detached: isService,
        stdio: isService ? ["pipe", log, log, "pipe", "pipe"] : ["pipe", "pipe", log, "pipe"],
      },
    );
    closeSync(log);
    if (child.pid === undefined) throw new Error(`${p}: /bin/sh does not start`);
    const [stdin, stdout, , guard, probe] = child.stdio as unknown as [
      Writable,
      Readable,
      null,
      Writable,
      Readable,
    ];
    this.isService = isService;
    this.pid = child.pid;
    this.#child = child;
    this.#stdin = stdin;
    // If the worker died while a line was written to it, its exit is reported.
    stdin.on("error", () => {});
    guard.on("error", () => {});
    const lines = createInterface({ input: isService ? probe : stdout });
    lines.on("line", (line) => onWord(parse(line)));
    // If the worker was killed before it had read its lines, its exit is reported, and everything that it sent has been read.
    lines.on("error", () => {});
    this.exited = new Promise((resolve) => {
      let cancel = (): void => {};
      child.on("exit", (code, signal) => {
        this.#end ??= { code, signal };
        if (isService) this.#toGroup("SIGKILL");
        guard.end("over\n");
        const timer = setTimeout(() => (isService ? probe : stdout).destroy(), readsOnMs);
        cancel = () => clearTimeout(timer);
      });
      // `close` comes once everything that the worker sent has been read.
      child.on("close", (code, signal) => {
        cancel();
        this.#end ??= { code, signal };
        resolve(this.#end);
      });
    });
  }

  get running(): boolean {
    return this.#end === null;
  }

  /** Sends a message to the worker. A service only gets the order to stop, as SIGTERM. */
  tell(word: ToWorker): void {
    if (this.isService) {
      if (word.do === "stop") this.signal("SIGTERM");
    } else if (this.running) this.#stdin.write(`${JSON.stringify(word)}\n`);
  }

  signal(signal: NodeJS.Signals): void {
    if (this.running) this.#child.kill(signal);
  }

  #toGroup(signal: NodeJS.Signals): void {
    try {
      process.kill(-this.pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
      // All processes of the group have ended.
    }
  }

  /** Sends SIGCONT and SIGKILL. Resolves when everything that the worker sent has been read. */
  async kill(): Promise<WorkerEnd> {
    if (this.running && this.isService) this.#toGroup("SIGKILL");
    this.signal("SIGCONT");
    this.signal("SIGKILL");
    return await this.exited;
  }

  /** Whether the kernel shows the process as stopped; true if there is no /proc. */
  standsStill(): boolean {
    let stat: string;
    try {
      stat = readFileSync(`/proc/${this.pid}/stat`, "utf8");
    } catch {
      return true;
    }
    return stat.slice(stat.lastIndexOf(")") + 2).startsWith("T");
  }

  /** The end of the worker's log, which contains its standard error. */
  logTail(): string {
    try {
      return readFileSync(this.#logFile, "utf8").trimEnd().split("\n").slice(-20).join("\n");
    } catch {
      return "";
    }
  }
}

function parse(line: string): FromWorker {
  let word: unknown;
  try {
    word = JSON.parse(line);
  } catch {
    word = null;
  }
  if (typeof word === "object" && word !== null) return word as FromWorker;
  return { say: "failed", error: `not a line with one JSON object: ${line.slice(0, 200)}` };
}
