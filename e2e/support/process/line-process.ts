import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";

/**
 * `exec` keeps the pid, so that signals reach the JVM itself. The watchdog beside it kills the JVM when the pipe on descriptor
 * 3 closes without a line, as after the death of the parent. The end of its own stdin is not enough, since a stopped JVM would
 * never see it. A line on the pipe says that the JVM has ended by itself, and ends the watchdog.
 */
const guarded = `(read -r _ <&3 || kill -KILL $$) </dev/null >/dev/null 2>&1 & exec "$@" 3<&-`;

const stderrKept = 8_192;

interface Pending {
  readonly command: string;
  readonly resolve: (values: string[]) => void;
  readonly reject: (error: Error) => void;
  readonly timer: NodeJS.Timeout;
}

/** A child process that answers lines. `Peer.java` describes the protocol. Every wait has a limit. */
export class LineProcess {
  readonly pid: number;
  readonly #child: ChildProcess;
  readonly #stdin: Writable;
  readonly #pending = new Map<string, Pending>();
  readonly #listeners = new Set<(event: string, values: string[]) => void>();
  readonly #exited: Promise<void>;
  #stderr = "";
  #ended: string | null = null;
  #lastId = 0;

  constructor(command: string, args: readonly string[]) {
    const child = spawn("sh", ["-c", guarded, "sh", command, ...args], {
      stdio: ["pipe", "pipe", "pipe", "pipe"],
    });
    if (child.pid === undefined) throw new Error("sh does not start");
    const [stdin, stdout, stderr, guard] = child.stdio as unknown as [Writable, Readable, Readable, Writable];
    this.pid = child.pid;
    this.#child = child;
    this.#stdin = stdin;
    // When a process died while we wrote, its exit is reported, which says more than EPIPE.
    stdin.on("error", () => {});
    guard.on("error", () => {});
    stderr.on("data", (data: Buffer) => {
      this.#stderr = (this.#stderr + data.toString()).slice(-stderrKept);
    });
    createInterface({ input: stdout }).on("line", (line) => this.#read(line));
    this.#exited = new Promise((resolve) => {
      child.on("exit", () => guard.end("over\n"));
      // `close` comes only when all that the process wrote has been read.
      child.on("close", (code, signal) => {
        this.#end(`ended with ${code ?? signal}`);
        resolve();
      });
    });
  }

  /** The end of what the process has written to standard error. */
  get stderr(): string {
    return this.#stderr;
  }

  /** Listens to events until the returned function is called. */
  listen(listener: (event: string, values: string[]) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The values of the first event for which `pick` is true. */
  event(
    what: string,
    pick: (event: string, values: string[]) => boolean,
    withinMs: number,
  ): Promise<string[]> {
    return new Promise((resolve, reject) => {
      const done = (): void => {
        clearTimeout(timer);
        stop();
        this.#child.off("close", gone);
      };
      const gone = (): void => {
        done();
        reject(this.#error(`waited for ${what}, but it ended`));
      };
      const timer = setTimeout(() => {
        done();
        reject(this.#error(`no ${what} within ${withinMs} ms`));
      }, withinMs);
      const stop = this.listen((event, values) => {
        if (!pick(event, values)) return;
        done();
        resolve(values);
      });
      this.#child.on("close", gone);
    });
  }

  request(command: string, args: readonly string[], withinMs: number): Promise<string[]> {
    if (this.#ended !== null) return Promise.reject(this.#error(`${command}: the process ${this.#ended}`));
    this.#lastId += 1;
    const id = String(this.#lastId);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#pending.delete(id);
        reject(this.#error(`no answer to ${command} ${args.join(" ")} within ${withinMs} ms`));
      }, withinMs);
      this.#pending.set(id, { command, resolve, reject, timer });
      this.#stdin.write(`${[id, command, ...args].map(encodeURIComponent).join(" ")}\n`);
    });
  }

  signal(signal: NodeJS.Signals): void {
    if (this.#ended !== null) throw this.#error(`${signal}: the process ${this.#ended}`);
    this.#child.kill(signal);
  }

  /** Ends stdin, which asks the process to end. Kills the process when it has not ended within `withinMs`. */
  async end(withinMs: number): Promise<void> {
    this.#stdin.end();
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), withinMs);
    await this.#exited;
    clearTimeout(timer);
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#exited;
  }

  #read(line: string): void {
    const [id = "", kind = "", ...values] = line.split(" ").map(decodeURIComponent);
    if (id === "!") {
      for (const listener of [...this.#listeners]) listener(kind, values);
      return;
    }
    const pending = this.#pending.get(id);
    // An answer that comes after its limit has no waiter: its request was already rejected, with the reason.
    if (pending === undefined) return;
    this.#pending.delete(id);
    clearTimeout(pending.timer);
    if (kind === "ok") pending.resolve(values);
    else pending.reject(this.#error(`${pending.command}: ${values.join(": ")}`));
  }

  #end(how: string): void {
    this.#ended = how;
    for (const pending of this.#pending.values()) {
      clearTimeout(pending.timer);
      pending.reject(this.#error(`${pending.command}: the process ${how}`));
    }
    this.#pending.clear();
  }

  #error(message: string): Error {
    const tail = this.#stderr.trim();
    return new Error(tail === "" ? message : `${message}\n--- its stderr:\n${tail}`);
  }
}

/**
 * The state of a process, one letter as in Linux's `/proc/<pid>/stat`: `T` stopped, `Z` ended and not yet reaped; `null` when
 * it is gone.
 */
export function processState(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The program's name comes first, in parentheses, and may contain any character.
    return stat.slice(stat.lastIndexOf(")") + 2, stat.lastIndexOf(")") + 3);
  } catch {
    return null;
  }
}
