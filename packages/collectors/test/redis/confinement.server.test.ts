import { eventually, type RedisNode, startRedis } from "@holdfast/test-servers";
import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, it } from "vitest";
import { collect, lockOn, shown } from "./support.js";

let node: RedisNode;
beforeAll(async () => {
  node = await startRedis();
});
afterAll(() => node.stop());

it("what no pattern fits is neither read nor touched, however it is named, and though a client waits there", async () => {
  const locks = await lockOn(node);
  const held = await locks.mutex("other:1").acquire();
  const waits = locks.mutex("other:1").acquire();
  await locks.mutex("order:1").acquire();
  // Listens as a process of Redisson does that waits for a lock.
  const listener = new Redis(node.url);
  await listener.subscribe("redisson_lock__channel:{other:1}", "redisson_lock__channel:{order:1}");
  const { collector } = collect({ url: node.url, patterns: ["order:*"] });
  const all = collect({ url: node.url }).collector;
  await shown(collector, "order:1", ({ state }) => state === "contended");
  const foreign = await shown(all, "other:1", ({ state }) => state === "contended");
  const attention = collector.attend(["other:1"]);
  await eventually(
    () => collector.sources().some(({ source, state }) => source === "rows" && state === "ok"),
    {
      what: "a read of the rows on screen",
    },
  );
  expect(await collector.detail("other:1", { maxWaiters: 5 })).toBeNull();
  expect(collector.get("other:1")).toBeUndefined();
  for (const action of ["force-release", "request-revoke", "evict-waiter", "clean-orphan"] as const)
    for (const dryRun of [true, false])
      expect(
        await collector.act({
          action,
          key: "other:1",
          entry: null,
          expectedVersion: foreign.version,
          dryRun,
        }),
      ).toMatchObject({ outcome: "denied", before: null });
  expect(held.state).toBe("held");
  attention.end();
  listener.disconnect();
  await held.release();
  await (await waits).release();
});
