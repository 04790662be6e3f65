import { execFile, execFileSync } from "node:child_process";
import { chown } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { findPostgres } from "@holdfast/test-servers";
import pg from "pg";
import { Missing } from "../missing.js";
import type { OtherServer } from "./other-set.js";

/** The numeric id of the unprivileged user `nobody`: PostgreSQL refuses to run as root. */
const unprivilegedUser = 65_534;

/** @throws Missing */
export function postgres(): OtherServer {
  const install = findPostgres();
  if (install === undefined)
    throw new Missing("no PostgreSQL: npx holdfast-servers ensure --only postgresql");
  const { server, initdb } = install;
  const version = /([\d.]+)/.exec(execFileSync(server, ["--version"], { encoding: "utf8" }))?.[1];
  const asRoot = process.getuid?.() === 0;
  const user = asRoot ? { uid: unprivilegedUser, gid: unprivilegedUser } : {};
  return {
    name: "postgresql",
    version: version ?? "unknown",
    async prepare(folder, port) {
      if (asRoot) await chown(folder, unprivilegedUser, unprivilegedUser);
      const data = join(folder, "data");
      const made = ["--pgdata", data, "--username", "test", "--auth", "trust", "--no-sync", "--no-locale"];
      await promisify(execFile)(initdb, made, { ...user, cwd: folder });
      const settings = {
        listen_addresses: "127.0.0.1",
        unix_socket_directories: "",
        max_connections: "200",
        // A backend that waits for a lock checks in this interval that its client is still there.
        client_connection_check_interval: "500ms",
        tcp_user_timeout: "2s",
      };
      const args = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
      return { command: server, args: ["-D", data, "-p", String(port), ...args], cwd: folder, ...user };
    },
    serves: (port) => asked(port, "SELECT 1").then(() => true),
    async endSession(port, { p }) {
      // A worker may wait in other sessions of its own. The session that holds has a granted lock.
      const ended = await asked(
        port,
        `SELECT pg_terminate_backend(a.pid), a.pid FROM pg_stat_activity a JOIN pg_locks l ON l.pid = a.pid
         WHERE a.application_name = $1 AND l.locktype = 'advisory' AND l.granted`,
        [p],
      );
      if (ended.length === 0) throw new Error(`${p} holds nothing`);
      return { ended };
    },
  };
}

async function asked(port: number, sql: string, values: string[] = []): Promise<object[]> {
  const client = new pg.Client({ host: "127.0.0.1", port, user: "test", database: "postgres" });
  client.on("error", () => {});
  await client.connect();
  try {
    return (await client.query(sql, values)).rows;
  } finally {
    // If the connection is broken, the query has already failed with the reason.
    await client.end().catch(() => {});
  }
}
