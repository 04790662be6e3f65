import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import type { Socket } from "node:net";
import { TestServerError } from "../errors.js";
import { eventually } from "../eventually.js";

// The shell becomes the server by `exec`, so the pid that we signal is the server's own. Before that, the shell starts
// a watchdog. It waits for the end of a pipe that only this process holds open: the kernel closes the pipe however this
// process dies, SIGKILL included. Then the watchdog kills the server, but only while the watchdog is still the server's
// child. A server that has ended leaves the watchdog to init, and its pid may belong to an unrelated process by now.
// SIGCONT goes first, so that a paused server leaves no stopped process that waits for its reaper.
//
// The word "done" on the pipe means that this process lives, knows that the server has ended, and removes its folder
// itself. The word "ready" from the shell means that the watchdog runs. If we paused the shell before that and then
// died, a stopped process would be left for good.
const leash = `
(
  trap '' HUP INT TERM
  read -r word <&3
  [ "$word" = done ] && exit
  if [ -r /proc/self/stat ]; then read -r _ _ _ parent _ </proc/self/stat
  else parent=$(ps -o ppid= -p "$(exec sh -c 'echo $PPID')" | tr -d ' ')
  fi
  if [ "$parent" = "$$" ]; then
    kill -CONT "$$"
    kill -KILL "$$"
  fi
  if [ -n "$HOLDFAST_SCRATCH" ]; then
    tries=0
    while kill -0 "$$" && [ "$tries" -lt 50 ]; do sleep 0.1; tries=$((tries + 1)); done
    rm -rf -- "$HOLDFAST_SCRATCH"
  fi
) >/dev/null 2>&1 &
echo ready >&3
unset HOLDFAST_SCRATCH
exec "$@" 3<&-
`;

export interface TetheredOptions {
  command: string;
  args: readonly string[];
  cwd: string;
  /** Standard output and error go here, appended. */
  logFile: string;
  /** Folder that the watchdog removes when this process dies without having stopped the child. */
  scratchFolder?: string;
}

export interface ExitInfo {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/**
 * A child process that does not outlive this one, whatever kills this one.
 *
 * It does not keep this process alive either: a script that forgets to stop its servers ends, and they end with it.
 */
export class TetheredProcess {
  /** The process id of the command itself, so signals reach the command directly. */
  readonly pid: number;
  /** Settles when the process has ended and was reaped. Never rejects. */
  readonly exited: Promise<ExitInfo>;
  readonly #child: ChildProcess;
  readonly #what: string;
  #exit: ExitInfo | undefined;

  private constructor(child: ChildProcess, pid: number, what: string) {
    this.pid = pid;
    this.#child = child;
    this.#what = what;
    const pipe = child.stdio[3] as Socket;
    this.exited = new Promise((resolve) => {
      child.once("exit", (code, signal) => {
        this.#exit = { code, signal };
        pipe.end("done\n"); // the watchdog ends with the child
        resolve(this.#exit);
      });
    });
    child.unref();
    pipe.unref();
    pipe.on("error", () => {}); // the watchdog was killed
  }

  static async spawn(options: TetheredOptions): Promise<TetheredProcess> {
    const log = openSync(options.logFile, "a");
    try {
      const child = spawn("/bin/sh", ["-c", leash, "sh", options.command, ...options.args], {
        cwd: options.cwd,
        env: { ...process.env, HOLDFAST_SCRATCH: options.scratchFolder ?? "" },
        // Not standard input: Node closes that by itself when the child ends, before we could write "done".
        stdio: ["ignore", log, log, "pipe"],
        // A signal to our whole process group reaches neither the child nor its watchdog. Clients that hold locks on
        // the server need it a moment longer than a terminal's interrupt takes. If the group is killed, only the
        // watchdog is left to clean up.
        detached: true,
      });
      await new Promise<void>((resolve, reject) => {
        child.once("spawn", resolve);
        child.once("error", reject);
      });
      if (child.pid === undefined) throw new TestServerError(`${options.command} has no process id`);
      const tethered = new TetheredProcess(child, child.pid, `${options.command} (pid ${child.pid})`);
      await tethered.#watched();
      return tethered;
    } finally {
      closeSync(log);
    }
  }

  get exit(): ExitInfo | undefined {
    return this.#exit;
  }

  get running(): boolean {
    return this.#exit === undefined;
  }

  /** Sends SIGSTOP. Resolves when every thread stands still, not merely when the signal was sent. */
  async pause(): Promise<void> {
    this.#signal("SIGSTOP");
    await eventually(() => this.#standsStill(), {
      what: `${this.#what} to stand still after SIGSTOP`,
      everyMs: 2,
      withinMs: 5_000,
    });
  }

  /** Sends SIGCONT. Does no harm if the process was not paused. */
  resume(): void {
    this.#signal("SIGCONT");
  }

  /** Sends SIGCONT and `signal` (default SIGKILL), then waits for the end. Does nothing if the process has ended. */
  async kill(signal: NodeJS.Signals = "SIGKILL"): Promise<ExitInfo> {
    if (this.#exit !== undefined) return this.#exit;
    this.#signal("SIGCONT");
    this.#signal(signal);
    this.#child.ref();
    return eventually(() => this.#exit, {
      what: `${this.#what} to end after ${signal}`,
      everyMs: 2,
      withinMs: 10_000,
    });
  }

  /** Resolves when the watchdog runs, or when the child has ended before that. */
  async #watched(): Promise<void> {
    const pipe = this.#child.stdio[3] as Socket;
    pipe.ref();
    const ready = new Promise<void>((resolve) => {
      pipe.once("data", () => resolve());
    });
    await Promise.race([ready, this.exited]);
    pipe.pause();
    pipe.unref();
  }

  #signal(signal: NodeJS.Signals): void {
    if (this.#exit !== undefined) {
      throw new TestServerError(
        `${this.#what} cannot take ${signal}: it has ended (${describeExit(this.#exit)})`,
      );
    }
    this.#child.kill(signal);
  }

  #standsStill(): boolean {
    if (this.#exit !== undefined) throw new TestServerError(`${this.#what} has ended`);
    let stat: string;
    try {
      stat = readFileSync(`/proc/${this.pid}/stat`, "utf8");
    } catch {
      return true; // no /proc on this system: the signal was delivered, more cannot be known
    }
    // The state follows the command name, which is in parentheses and may hold any character.
    return stat.slice(stat.lastIndexOf(")") + 2).startsWith("T");
  }
}

export function describeExit(exit: ExitInfo): string {
  return exit.signal === null ? `exit code ${exit.code}` : exit.signal;
}
