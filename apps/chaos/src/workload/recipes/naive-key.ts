import { randomUUID } from "node:crypto";
import { Redis } from "ioredis";
import type { ServerAddresses } from "../addresses.js";
import type { Ask, Client, Grant, Recipe, RecipeContext } from "../recipe.js";

/**
 * The lock that most people write first: `SET key value NX PX lease`, and `DEL key` when done. It has no token, is not
 * renewed, does not check whose key it deletes, and does not notify the holder that its time is over.
 *
 * With Sentinels it uses ioredis with its defaults, which keeps its connection whatever the Sentinels report. With
 * `detector: true` ioredis follows them.
 */
export const naiveKey: Recipe = {
  async open(context: RecipeContext): Promise<Client> {
    const redis = clientOf(context.servers, context.options.detector === true);
    // Failing commands reject with the error, so the event needs no handling.
    redis.on("error", () => {});
    await connected(redis);
    return new NaiveClient(redis, context);
  },
};

const readyWithinMs = 30_000;

/** On a busy machine the first answer may take longer than a command may. */
async function connected(redis: Redis): Promise<void> {
  const endMs = performance.now() + readyWithinMs;
  for (;;) {
    try {
      await redis.ping();
      return;
    } catch (error) {
      if (performance.now() > endMs) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

function clientOf(servers: ServerAddresses, failoverDetector: boolean): Redis {
  // A command without an answer fails after a time, so that workers can end.
  const common = { commandTimeout: 2_000, maxRetriesPerRequest: 1 };
  if (servers.kind === "redis") return new Redis({ ...servers.address, ...common });
  if (servers.kind !== "replicated") throw new Error(`naive-key knows no ${servers.kind}`);
  const { sentinels, masterName, natMap } = servers;
  if (sentinels.length === 0) return new Redis({ ...servers.master, ...common });
  return new Redis({
    ...common,
    sentinels: sentinels.map((each) => ({ ...each })),
    name: masterName,
    failoverDetector,
    ...(natMap !== undefined && { natMap: { ...natMap } }),
  });
}

class NaiveClient implements Client {
  readonly #redis: Redis;
  readonly #context: RecipeContext;

  constructor(redis: Redis, context: RecipeContext) {
    this.#redis = redis;
    this.#context = context;
  }

  async acquire({ key, waitMs, signal }: Ask): Promise<Grant | null> {
    const endMs = performance.now() + (waitMs ?? Number.POSITIVE_INFINITY);
    for (;;) {
      if ((await this.#redis.set(key.name, randomUUID(), "PX", key.leaseMs, "NX")) === "OK") {
        return this.#grant(key.name);
      }
      if (signal.aborted || performance.now() >= endMs) return null;
      await new Promise((resolve) => setTimeout(resolve, this.#context.random.between(5, 20)));
    }
  }

  /** An error answer of the server means that nothing changed; after any other error something may have changed. */
  meaning(error: unknown): "fail" | "info" {
    return error instanceof Error && error.name === "ReplyError" ? "fail" : "info";
  }

  async close(): Promise<void> {
    this.#redis.disconnect();
  }

  #grant(name: string): Grant {
    return {
      token: null,
      remainingMs: () => null,
      lost: null,
      release: async () => {
        try {
          const deleted = await this.#redis.del(name);
          return deleted === 1 ? { end: "ok" } : { end: "fail", why: "there was no key" };
        } catch (error) {
          return { end: this.meaning(error), why: String(error) };
        }
      },
    };
  }
}
