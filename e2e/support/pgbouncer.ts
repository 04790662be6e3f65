import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { freePort, requirePgBouncer } from "@holdfast/test-servers";
import { startUnprivileged, type UnprivilegedServer } from "./process/unprivileged-server.js";

/** A PgBouncer on 127.0.0.1 in front of one database. */
export interface PgBouncer extends UnprivilegedServer {
  readonly url: string;
}

/**
 * Starts the PgBouncer of this machine (`npx holdfast-servers ensure`) in transaction mode, with `serverConnections`
 * connections to the server.
 */
export async function startPgBouncer(database: string, serverConnections: number): Promise<PgBouncer> {
  const program = requirePgBouncer();
  const { hostname, port: serverPort, username, pathname } = new URL(database);
  const name = pathname.slice(1);
  const port = await freePort();
  const settings = `[databases]
${name} = host=${hostname} port=${serverPort} dbname=${name} user=${username}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${serverConnections}
`;
  const { stop } = await startUnprivileged({
    name: "PgBouncer",
    async prepare({ folder }) {
      const file = join(folder, "pgbouncer.ini");
      await writeFile(file, settings);
      return [program, file];
    },
    ready: "process up",
    // It keeps no data, so it may be killed. Which other signal ends it without a wait for its clients depends on its version.
    end: "KILL",
  });
  return { url: `postgres://${username}@127.0.0.1:${port}/${name}`, stop };
}
