// A client that a user wrote: SET NX PX with ioredis. Only the owner deletes the key.
import { defineRecipe } from "@holdfast/chaos";
import { Redis } from "ioredis";

const deleteOwn =
  "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";

export default defineRecipe({
  provides: { kinds: ["mutex"], servers: ["redis"] },
  async open({ servers }) {
    console.log("What a client prints is no word of the worker.");
    const redis = new Redis({ ...servers.address, commandTimeout: 2_000, maxRetriesPerRequest: 1 });
    redis.on("error", () => {}); // a command that fails says so
    await redis.ping();
    return {
      async acquire({ key, label, once, signal }) {
        while ((await redis.set(key.name, label, "PX", key.leaseMs, "NX")) === null) {
          if (once || signal.aborted) return null;
          await new Promise((resolve) => setTimeout(resolve, 10));
        }
        return {
          token: null,
          remainingMs: () => null,
          lost: null,
          release: async () =>
            (await redis.eval(deleteOwn, 1, key.name, label)) === 1
              ? { end: "ok" }
              : { end: "fail", why: "not ours any more" },
        };
      },
      meaning: () => "info",
      close: async () => redis.disconnect(),
    };
  },
});
