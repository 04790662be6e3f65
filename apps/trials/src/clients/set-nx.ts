import { type DefinedRecipe, defineRecipe } from "@holdfast/chaos";
import { connectRedis } from "./redis-client.js";

const deleteOwn =
  "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";

/**
 * `SET key value NX PX` and a compare-and-delete, as on the page of Redis about locks. No renewal, no token, no notice
 * of a loss.
 */
const recipe: DefinedRecipe = defineRecipe({
  provides: { kinds: ["mutex"], servers: ["redis", "replicated"] },
  async open({ servers, leaseMs }) {
    // Do not wait for an answer longer than half of the lease: a grant that came later would soon be over.
    const redis = await connectRedis(servers, { commandTimeout: leaseMs / 2, maxRetriesPerRequest: 1 });
    const remove = (name: string, value: string) => redis.eval(deleteOwn, 1, name, value);
    return {
      async acquire({ key, label, signal }) {
        try {
          while ((await redis.set(key.name, label, "PX", key.leaseMs, "NX")) === null) {
            if (signal.aborted) return null;
            await new Promise((resolve) => setTimeout(resolve, 10 + 10 * Math.random()));
          }
        } catch (error) {
          // The error of the acquire is reported. A key that could not be removed ends with its lease.
          await remove(key.name, label).catch(() => {});
          throw error;
        }
        return {
          token: null,
          remainingMs: () => null,
          lost: null,
          release: async () =>
            (await remove(key.name, label)) === 1
              ? { end: "ok" }
              : { end: "fail", why: "it was not ours any more" },
        };
      },
      meaning: () => "info",
      close: async () => redis.disconnect(),
    };
  },
});
export default recipe;
