import { type DefinedRecipe, defineRecipe } from "@holdfast/chaos";
import pg from "pg";

/**
 * `pg_advisory_lock` of a session, with one connection for each hold. The end of the connection notifies the holder
 * that the lock is gone.
 */
const recipe: DefinedRecipe = defineRecipe({
  provides: { kinds: ["mutex"], servers: ["other"], tellsLoss: true },
  async open({ servers, p }) {
    if (servers.kind !== "other") throw new Error(`it knows no servers of kind ${servers.kind}`);
    const { host, port } = servers.address;
    const about = { host, port, user: "test", database: "postgres", application_name: p, keepAlive: true };
    return {
      async acquire({ key, signal }) {
        const lost = new AbortController();
        const client = new pg.Client(about);
        const over = (why: unknown) => lost.abort(why);
        client.on("error", over);
        client.on("end", () => over(new Error("the connection ended")));
        // If a connection cannot be closed in order, it is already broken, and the server ends its session.
        const end = () => client.end().catch(() => {});
        signal.addEventListener("abort", end, { once: true });
        try {
          await client.connect();
          await client.query("SELECT pg_advisory_lock(hashtextextended($1, 0))", [key.name]);
        } catch (error) {
          signal.removeEventListener("abort", end);
          void end();
          throw error;
        }
        signal.removeEventListener("abort", end);
        return {
          token: null,
          remainingMs: () => null,
          lost: lost.signal,
          async release() {
            const { rows } = await client
              .query("SELECT pg_advisory_unlock(hashtextextended($1, 0)) AS was", [key.name])
              .finally(end);
            return rows[0]?.was === true ? { end: "ok" } : { end: "fail", why: "it was not held" };
          },
        };
      },
      meaning: () => "info",
      close: async () => {},
    };
  },
});
export default recipe;
