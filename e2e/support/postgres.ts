import { spawn } from "node:child_process";
import { chown, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually, freePort, requirePostgres } from "@holdfast/test-servers";
import { run } from "./process/run.js";

/** A PostgreSQL server on 127.0.0.1 with an empty database. */
export interface Postgres {
  readonly url: string;
  /** Ends it and removes its data. */
  stop(): Promise<void>;
}

/** The numeric id of the unprivileged user `nobody`: PostgreSQL refuses to run as root. */
const unprivilegedUser = 65_534;

/** The server ends when the pipe to its standard input closes, which happens however this process ends. */
const leashed = 'exec 3<&0; "$@" </dev/null 3<&- & read -r _ <&3; kill -QUIT $!; wait $!';

/** Starts a server of this machine (`npx holdfast-servers ensure`). Its data are fast to write and safe from nothing. */
export async function startPostgres(): Promise<Postgres> {
  const { initdb, server } = requirePostgres();
  const asRoot = process.getuid?.() === 0;
  const user = asRoot ? { uid: unprivilegedUser, gid: unprivilegedUser } : {};
  const folder = await mkdtemp(join(tmpdir(), "holdfast-postgres-"));
  if (asRoot) await chown(folder, unprivilegedUser, unprivilegedUser);
  const data = join(folder, "data");
  const made = ["--pgdata", data, "--username", "test", "--auth", "trust", "--no-sync", "--no-locale"];
  await run(initdb, [...made, "--encoding", "UTF8"], { ...user, cwd: folder, withinMs: 60_000 });
  const port = await freePort();
  const settings = ["listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off"];
  const args = ["-D", data, "-p", `${port}`, ...settings.flatMap((setting) => ["-c", setting])];
  const child = spawn("/bin/sh", ["-c", leashed, "sh", server, ...args], {
    ...user,
    cwd: folder,
    stdio: ["pipe", "ignore", "pipe"],
  });
  let log = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    log += text;
  });
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const stop = async (): Promise<void> => {
    child.stdin.end();
    await ended;
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await eventually(() => log.includes("ready to accept connections"), {
      what: "PostgreSQL to accept connections",
      withinMs: 30_000,
      detail: () => log,
    });
  } catch (error) {
    await stop();
    throw error;
  }
  return { url: `postgres://test@127.0.0.1:${port}/postgres`, stop };
}
