import type { LockHandle, LockProvider } from "@holdfast/core";
import type { BenchClient } from "../turns.js";

/** A client made of one of our providers, on any backend. */
export async function clientOf(locks: LockProvider): Promise<BenchClient> {
  await locks.ready({ waitMs: 120_000 });
  return {
    lock(name) {
      const mutex = locks.mutex(name);
      let handle: LockHandle;
      return {
        async acquire() {
          handle = await mutex.acquire();
        },
        async release() {
          const outcome = await handle.release();
          if (outcome !== "released" && outcome !== "kept") throw new Error(`release() said ${outcome}`);
        },
      };
    },
    async close() {
      await locks.close();
    },
  };
}
