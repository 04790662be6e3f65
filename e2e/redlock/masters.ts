import { redLocks } from "@holdfast/multi-lock";
import { eventually, type RedisNode, startRedis } from "@holdfast/test-servers";

export const leaseMs = 1_500;
/** The longest lease that any test asks for. */
export const maxLeaseMs = 3_000;

/** Independent masters that are known for longer than the longest lease, so that all of them vote. */
export async function votingMasters(count: number): Promise<readonly RedisNode[]> {
  const nodes = await Promise.all(Array.from({ length: count }, () => startRedis()));
  await seasoned(nodes, maxLeaseMs);
  return nodes;
}

export function urlsOf(nodes: readonly { readonly port: number }[]): readonly string[] {
  return nodes.map(({ port }) => `redis://127.0.0.1:${port}`);
}

/** Waits until each of them votes. A new master sits out the longest lease. */
export async function seasoned(nodes: readonly RedisNode[], maxLeaseMs: number): Promise<void> {
  const locks = redLocks({ nodes: urlsOf(nodes), leaseMs, maxLeaseMs, nodeTimeoutMs: 500 });
  try {
    await eventually(
      async () => {
        // The time of each master begins when it is first asked for a vote.
        await (await locks.mutex("seasoned").tryAcquire({ waitMs: 2 * maxLeaseMs }))?.release();
        const seen = await Promise.all(
          nodes.map((node) => node.command("HGET", "holdfast_redlock_node", "first_seen_ms")),
        );
        return seen.every((firstMs) => firstMs !== null && Number(firstMs) + maxLeaseMs < Date.now());
      },
      { withinMs: 10 * maxLeaseMs, what: "all masters to vote" },
    );
  } finally {
    await locks.close();
  }
}
