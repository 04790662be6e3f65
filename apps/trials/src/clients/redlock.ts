import { type DefinedRecipe, defineRecipe, type Grant } from "@holdfast/chaos";
import { Redis } from "ioredis";
import Redlock from "redlock";
import { answering } from "./redis-client.js";

/** `using` over all masters: renewed, and the signal of the routine tells that a renewal failed. */
const recipe: DefinedRecipe = defineRecipe({
  provides: { kinds: ["mutex"], servers: ["masters"], tellsLoss: true },
  async open({ servers }) {
    if (servers.kind !== "masters") throw new Error(`it knows no servers of kind ${servers.kind}`);
    const clients = await Promise.all(servers.addresses.map((each) => answering(new Redis({ ...each }))));
    // By default it gives up after ten tries.
    const redlock = new Redlock(clients, { retryCount: -1 });
    redlock.on("error", () => {});
    return {
      acquire: ({ key }) =>
        new Promise<Grant>((resolve, reject) => {
          const used = redlock.using([key.name], key.leaseMs, (lost) => {
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
        }),
      meaning: () => "info",
      async close() {
        for (const client of clients) client.disconnect();
      },
    };
  },
});
export default recipe;
