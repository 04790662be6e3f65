import type { LockHandle, LockProvider, PrimitiveKind } from "@holdfast/core";
import type { Fixture } from "@holdfast/core/testing";
import { type RedisLocks, type RedisLocksOptions, redisLocks } from "@holdfast/redis-recipes";
import { type RedisNode, type RedisProxy, startRedisProxy } from "@holdfast/test-servers";

export interface FixtureParts {
  /** As what the lock under test is freed by force. Default "mutex". */
  readonly options?: Omit<RedisLocksOptions, "url">;
  /** How a hold is lost. Default: its key is deleted, and nobody is told. */
  loseHold?(node: RedisNode, handle: LockHandle): Promise<void>;
  readonly kind?: PrimitiveKind;
}

interface Client {
  readonly provider: RedisLocks;
  readonly link: RedisProxy;
}

/** Providers on one real server, each through a link of its own, to be cut. */
export async function singleFixture(node: RedisNode, parts: FixtureParts = {}): Promise<Fixture> {
  const clients: Client[] = [];
  return {
    async provider(): Promise<LockProvider> {
      const link = await startRedisProxy({ target: { host: "127.0.0.1", port: node.port } });
      const provider = redisLocks({
        url: `redis://127.0.0.1:${link.port}`,
        leaseMs: 3_000,
        heartbeatMs: 200,
        ...parts.options,
      });
      clients.push({ provider, link });
      return provider;
    },
    async loseHold(handle) {
      if (parts.loseHold !== undefined) await parts.loseHold(node, handle);
      else await node.command("DEL", handle.name);
    },
    async partition(provider) {
      const { link } = clients.find((client) => client.provider === provider) as Client;
      await link.setMode("reset");
      return {
        [Symbol.dispose]: () => {
          void link.setMode("ok");
        },
      };
    },
    async close() {
      for (const { link } of clients) await link.close();
    },
  };
}
