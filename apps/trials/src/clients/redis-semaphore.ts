import { type DefinedRecipe, defineRecipe } from "@holdfast/chaos";
import { Mutex } from "redis-semaphore";
import { connectRedis } from "./redis-client.js";

/** `Mutex`, renewed at four fifths of its lease as by default. `onLockLost` notifies the holder of a loss. */
const recipe: DefinedRecipe = defineRecipe({
  provides: { kinds: ["mutex"], servers: ["redis", "replicated"], tellsLoss: true },
  async open({ servers }) {
    const redis = await connectRedis(servers);
    return {
      async acquire({ key }) {
        const lost = new AbortController();
        const mutex = new Mutex(redis, key.name, {
          lockTimeout: key.leaseMs,
          // The default is to give up after ten seconds.
          acquireTimeout: 600_000,
          onLockLost: (error) => lost.abort(error),
        });
        await mutex.acquire();
        return {
          token: null,
          remainingMs: () => null,
          lost: lost.signal,
          async release() {
            await mutex.release();
            return { end: "ok" };
          },
        };
      },
      meaning: () => "info",
      close: async () => redis.disconnect(),
    };
  },
});
export default recipe;
