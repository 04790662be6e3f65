import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const cli = fileURLToPath(new URL("../../apps/chaos/dist/cli.js", import.meta.url));

const ports = `holdfast-ports-${process.getuid?.() ?? "user"}`;

/** The built CLI in a separate process, with its own temporary folder. */
export class ChaosRun {
  readonly child: ChildProcess;
  readonly pid: number;
  /** The folder that the process uses as the system's temporary folder. */
  readonly temp: string;
  /** The folder for `--out`. */
  readonly out: string;
  readonly #root: string;
  readonly #exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  #output = "";

  /** @param options `ownGroup`: it leads a process group, as a job of a shell does. */
  constructor(args: (out: string) => readonly string[], options: { readonly ownGroup?: boolean } = {}) {
    this.#root = mkdtempSync(join(tmpdir(), "chaos-e2e-"));
    this.temp = mkdtempSync(join(this.#root, "temp-"));
    this.out = join(this.#root, "out");
    // The folder in which the test servers of all processes on this machine note their ports.
    const book = join(tmpdir(), ports);
    mkdirSync(book, { recursive: true });
    symlinkSync(book, join(this.temp, ports));
    this.child = spawn(process.execPath, [cli, ...args(this.out)], {
      env: { ...process.env, TMPDIR: this.temp, NO_COLOR: "1" },
      stdio: ["ignore", "pipe", "pipe"],
      detached: options.ownGroup === true,
    });
    if (this.child.pid === undefined) throw new Error("the CLI does not start");
    this.pid = this.child.pid;
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream?.on("data", (data: Buffer) => {
        this.#output += data.toString();
      });
    }
    this.#exited = new Promise((resolve) => {
      this.child.on("close", (code, signal) => resolve({ code, signal }));
    });
  }

  /** Everything that the process has written to stdout and stderr. */
  get output(): string {
    return this.#output;
  }

  /** The names in its temporary folder. */
  left(): string[] {
    return readdirSync(this.temp).filter((name) => name !== ports);
  }

  get exited(): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
    return this.#exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.kill("SIGKILL");
    await this.#exited;
    rmSync(this.#root, { recursive: true, force: true, maxRetries: 10 });
  }
}
