import type { Fixture } from "@holdfast/conformance";
import type { LockProvider } from "@holdfast/core";
import { type RedLocksOptions, redLocks } from "@holdfast/multi-lock";
import { type RedisNode, type RedisProxy, startRedisProxy } from "@holdfast/test-servers";
import { refusedCount } from "../support/refused-count.js";
import { leaseMs, maxLeaseMs, urlsOf } from "./masters.js";

interface Client {
  readonly provider: LockProvider;
  readonly links: readonly RedisProxy[];
}

/** Providers over the same masters. Each has links of its own, which a test can cut. */
export async function redLockFixture(
  masters: readonly RedisNode[],
  options: Omit<RedLocksOptions, "nodes"> = {},
): Promise<Fixture> {
  const clients: Client[] = [];
  const waiting = refusedCount();
  return {
    waiting: waiting.of,
    maxLeaseMs,
    async provider(): Promise<LockProvider> {
      const links = await Promise.all(
        masters.map(({ port }) => startRedisProxy({ target: { host: "127.0.0.1", port } })),
      );
      const provider = redLocks({
        nodes: urlsOf(links),
        leaseMs,
        maxLeaseMs,
        nodeTimeoutMs: 500,
        ...options,
      });
      waiting.follow(provider);
      clients.push({ provider, links });
      return provider;
    },
    async loseHold({ name }) {
      // The owners are read first. As soon as the holder has lost a majority, it gives its other votes back. Without the owner,
      // a late deletion would then delete a vote of the next holder.
      const owners = await Promise.all(
        masters.map(async (node) => (await node.command("HKEYS", name)) as string[]),
      );
      await Promise.all(
        masters.map(async (node, at) => {
          for (const owner of owners[at] ?? []) await node.command("HDEL", name, owner);
        }),
      );
    },
    async partition(provider) {
      const { links } = clients.find((client) => client.provider === provider) as Client;
      await Promise.all(links.map((link) => link.setMode("reset")));
      return {
        [Symbol.dispose]: () => {
          for (const link of links) void link.setMode("ok");
        },
      };
    },
    async close() {
      await Promise.all(clients.flatMap(({ links }) => links.map((link) => link.close())));
    },
  };
}
