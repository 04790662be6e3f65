import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readlinkSync } from "node:fs";
import { ProgramError } from "../machine/run-program.js";

/**
 * A network of its own, with a loopback only. It is held by an open file of this process and by what runs in it: when
 * both are gone, however they went, the kernel takes it away.
 */
export class NetworkNamespace {
  /** The path by which others name it; it lives as long as this process and the namespace. */
  readonly path: string;
  readonly #file: number;
  #closed = false;

  private constructor(file: number) {
    this.#file = file;
    this.path = `/proc/${process.pid}/fd/${file}`;
  }

  /** @throws ProgramError where the machine does not allow it. */
  static async open(): Promise<NetworkNamespace> {
    // It says a word when it is inside, and stays for as long as it takes to look at it.
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
    ended.catch(() => {}); // it does end, later
    try {
      await Promise.race([once(child.stdout, "data"), ended]);
      const file = openSync(`/proc/${child.pid}/ns/net`, "r");
      return new NetworkNamespace(file);
    } finally {
      child.stdin.end();
    }
  }

  /** Words in front of a command that runs it inside; the command takes the place of the process. */
  get prefix(): readonly string[] {
    return ["nsenter", `--net=${this.path}`, "--"];
  }

  /** Lets go of it. It lives on while something runs in it. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    closeSync(this.#file);
  }
}

/** Which network this process is in, as the kernel names it. */
export function ownNetwork(): string {
  return readlinkSync("/proc/self/ns/net");
}
