import { spawn } from "node:child_process";
import { chown, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "@holdfast/test-servers";

/** The numeric user id of Debian's user without rights. PostgreSQL and PgBouncer refuse to run as root. */
const unprivilegedUser = 65_534;

/** Sends the signal to the server when the pipe to the standard input closes. That happens however this process ends. */
const leashed =
  'signal=$1; shift; exec 3<&0; "$@" </dev/null 3<&- & read -r _ <&3; kill -"$signal" $!; wait $!';

export interface UnprivilegedServer {
  /** Ends it and removes its folder. */
  stop(): Promise<void>;
}

export interface UnprivilegedServerOptions {
  readonly name: string;
  /** Makes the files that the server needs, and resolves to its command and arguments. */
  prepare(ground: Ground): Promise<readonly string[]>;
  /** A text that the server writes to standard error once it serves. */
  readonly ready: string;
  /** The signal that ends the server at once, whatever its clients do. */
  readonly end: "QUIT" | "KILL";
}

/** What a server needs to start: its user, for `spawn`, and a temporary folder that this user owns. */
export interface Ground {
  readonly user: { readonly uid?: number; readonly gid?: number };
  readonly folder: string;
}

/** Starts a server that refuses to run as root, in a temporary folder of its own. */
export async function startUnprivileged(options: UnprivilegedServerOptions): Promise<UnprivilegedServer> {
  const { name, ready, end } = options;
  const asRoot = process.getuid?.() === 0;
  const user = asRoot ? { uid: unprivilegedUser, gid: unprivilegedUser } : {};
  const folder = await mkdtemp(join(tmpdir(), `holdfast-${name.toLowerCase()}-`));
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true });
  let command: readonly string[];
  try {
    if (asRoot) await chown(folder, unprivilegedUser, unprivilegedUser);
    command = await options.prepare({ user, folder });
  } catch (error) {
    await remove();
    throw error;
  }
  const child = spawn("/bin/sh", ["-c", leashed, "sh", end, ...command], {
    ...user,
    cwd: folder,
    stdio: ["pipe", "ignore", "pipe"],
  });
  let log = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    log += text;
  });
  // A server that has ended closes the pipe before we do.
  child.stdin.on("error", () => {});
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const stop = async (): Promise<void> => {
    child.stdin.end();
    await ended;
    await remove();
  };
  try {
    await eventually(() => log.includes(ready), {
      what: `${name} to serve`,
      withinMs: 30_000,
      detail: () => log,
    });
  } catch (error) {
    await stop();
    throw error;
  }
  return { stop };
}
