import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

// The sweeper waits for the end of a pipe that only the runner holds open; the kernel closes it however the runner
// dies. It first unmounts what is mounted inside the folder. Servers may use the folder for a moment longer, so it
// tries again.
const sweep = `
trap '' HUP INT TERM
read -r _
for each in "$1"/*; do umount -l "$each"; done
tries=0
until rm -rf -- "$1" || [ "$tries" -ge 100 ]; do sleep 0.1; tries=$((tries + 1)); done
`;

/**
 * A folder, by default in the system's temporary folder, that does not outlive this process, however this process ends.
 */
export class SweptFolder {
  readonly path: string;
  readonly #sweeper: ChildProcess;
  #removed = false;

  constructor(name: string, parent: string = tmpdir()) {
    this.path = mkdtempSync(join(realpathSync(parent), `holdfast-chaos-${name}-`));
    // The sweeper has a process group of its own, so that signals to our whole group do not reach it.
    this.#sweeper = spawn("/bin/sh", ["-c", sweep, "sh", this.path], {
      detached: true,
      stdio: ["pipe", "ignore", "ignore"],
      cwd: "/",
    });
    this.#sweeper.on("error", () => {});
    this.#sweeper.stdin?.on("error", () => {});
    this.#sweeper.unref();
    (this.#sweeper.stdin as Socket | null)?.unref();
  }

  /** Resolves when the folder is gone. Nothing may be mounted in it any more. */
  async remove(): Promise<void> {
    if (this.#removed) return;
    this.#removed = true;
    rmSync(this.path, { recursive: true, force: true, maxRetries: 5 });
    if (this.#sweeper.exitCode !== null || this.#sweeper.pid === undefined) return;
    this.#sweeper.ref();
    const ended = once(this.#sweeper, "exit");
    this.#sweeper.stdin?.end();
    await ended;
  }
}
