import { join } from "node:path";
import { freePort, requirePostgres } from "@holdfast/test-servers";
import { run } from "./process/run.js";
import { startUnprivileged, type UnprivilegedServer } from "./process/unprivileged-server.js";

/** A PostgreSQL server on 127.0.0.1 with an empty database. */
export interface Postgres extends UnprivilegedServer {
  readonly url: string;
}

/** Starts a server of this machine (`npx holdfast-servers ensure`). Its writes are fast, and not safe from a crash. */
export async function startPostgres(): Promise<Postgres> {
  const { initdb, server } = requirePostgres();
  const port = await freePort();
  const { stop } = await startUnprivileged({
    name: "PostgreSQL",
    async prepare({ user, folder }) {
      const data = join(folder, "data");
      const made = ["--pgdata", data, "--username", "test", "--auth", "trust", "--no-sync", "--no-locale"];
      await run(initdb, [...made, "--encoding", "UTF8"], { ...user, cwd: folder, withinMs: 60_000 });
      const settings = ["listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off"];
      return [server, "-D", data, "-p", `${port}`, ...settings.flatMap((setting) => ["-c", setting])];
    },
    ready: "ready to accept connections",
    end: "QUIT",
  });
  return { url: `postgres://test@127.0.0.1:${port}/postgres`, stop };
}
