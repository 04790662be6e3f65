import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readlinkSync } from "node:fs";
import { ProgramError } from "../machine/run-program.js";

/**
 * A network of its own, with only a loopback. An open file of this process and the processes that run in it keep it
 * alive. When both are gone, for whatever reason, the kernel removes it.
 */
export class NetworkNamespace {
  /** The path by which other processes name it. It is valid as long as this process and the namespace exist. */
  readonly path: string;
  readonly #file: number;
  #closed = false;

  private constructor(file: number) {
    this.#file = file;
    this.path = `/proc/${process.pid}/fd/${file}`;
  }

  /** @throws ProgramError if the machine does not allow it. */
  static async open(): Promise<NetworkNamespace> {
    // The shell writes a line when it is inside, and stays until the namespace file is open here.
    const child = spawn("unshare", ["--net", "--", "sh", "-c", "echo; read -r _"], {
      stdio: ["pipe", "pipe", "pipe"],
    });
    let said = "";
    child.stderr.on("data", (bytes: Buffer) => {
      said += bytes.toString();
    });
    child.stdin.on("error", () => {});
    const ended = new Promise<never>((_, reject) => {
      child.once("error", (error) =>
        reject(new ProgramError(`unshare does not start: ${error.message}`, null)),
      );
      child.once("close", (code) => {
        reject(new ProgramError(`unshare --net ended with ${code}: ${said.trim()}`, code));
      });
    });
    ended.catch(() => {}); // it ends later, which is no error
    try {
      await Promise.race([once(child.stdout, "data"), ended]);
      const file = openSync(`/proc/${child.pid}/ns/net`, "r");
      return new NetworkNamespace(file);
    } finally {
      child.stdin.end();
    }
  }

  /** Words to put in front of a command to run it inside. The command replaces the `nsenter` process. */
  get prefix(): readonly string[] {
    return ["nsenter", `--net=${this.path}`, "--"];
  }

  /** Closes the file that keeps the namespace alive. The namespace lives on while something runs in it. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    closeSync(this.#file);
  }
}

/** The network in which this process is, as the kernel names it. */
export function ownNetwork(): string {
  return readlinkSync("/proc/self/ns/net");
}
