import { type DefinedRecipe, defineRecipe, type Grant } from "@holdfast/chaos";
import { Redis } from "ioredis";
import Redlock, { ExecutionError } from "redlock";
import { answering } from "./redis-client.js";

/**
 * `using` over all masters, with its default settings. It renews the lock, and the signal of the routine aborts when a
 * renewal failed. An acquire that gives up after ten tries is made again. `retryCount: -1` would wait instead, but
 * would never end the release of a lost lock.
 */
const recipe: DefinedRecipe = defineRecipe({
  provides: { kinds: ["mutex"], servers: ["masters"], tellsLoss: true },
  async open({ servers }) {
    if (servers.kind !== "masters") throw new Error(`it knows no servers of kind ${servers.kind}`);
    const clients = await Promise.all(servers.addresses.map((each) => answering(new Redis({ ...each }))));
    const redlock = new Redlock(clients);
    redlock.on("error", () => {});
    return {
      async acquire({ key, signal }) {
        while (!signal.aborted) {
          try {
            return await attempt(redlock, key.name, key.leaseMs);
          } catch (error) {
            if (!(error instanceof ExecutionError)) throw error;
          }
        }
        return null;
      },
      meaning: () => "info",
      async close() {
        for (const client of clients) client.disconnect();
      },
    };
  },
});
export default recipe;

function attempt(redlock: Redlock, name: string, leaseMs: number): Promise<Grant> {
  return new Promise((resolve, reject) => {
    const used = redlock.using([name], leaseMs, (lost) => {
      let end = (): void => {};
      const ended = new Promise<void>((over) => {
        end = over;
      });
      resolve({
        token: null,
        remainingMs: () => null,
        lost,
        async release() {
          end();
          await used;
          return { end: "ok" };
        },
      });
      return ended;
    });
    used.catch(reject);
  });
}
