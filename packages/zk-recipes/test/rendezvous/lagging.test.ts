import { AcquireTimeoutError } from "@holdfast/core";
import { type EmbeddedZooKeeper, startEmbeddedZooKeeper } from "@holdfast/test-servers";
import { expect, onTestFinished, test } from "vitest";
import { type ZooKeeperLocks, zookeeperLocks } from "../../src/index.js";

/** Two providers. The second one reads the initial state until a `sync` or a write of its own lets it catch up. */
async function oneBehind(): Promise<{
  server: EmbeddedZooKeeper;
  ahead: ZooKeeperLocks;
  behind: ZooKeeperLocks;
}> {
  const server = await startEmbeddedZooKeeper();
  onTestFinished(() => server.stop());
  const connected = async (): Promise<ZooKeeperLocks> => {
    const provider = zookeeperLocks({ connect: server.connectString, sessionTimeoutMs: 20_000 });
    onTestFinished(async () => void (await provider.close({ releaseTimeoutMs: 500 })));
    await provider.ready();
    return provider;
  };
  const behind = await connected();
  const [session] = server.sessions();
  if (session === undefined) throw new Error("no session");
  const ahead = await connected();
  server.faults.staleReads(session.id);
  return { server, ahead, behind };
}

test("a latch is taken down by a client whose server does not show its count yet", async () => {
  const { ahead, behind } = await oneBehind();
  expect(await ahead.countDownLatch("l").trySetCount(1)).toBe(true);
  expect(await behind.countDownLatch("l").countDown()).toBe(0);
  await ahead.countDownLatch("l").wait({ waitMs: 2_000 });
});

/** So long that the waiter has its answers by then, also where this process stands still for a second in between. */
const waitMs = 1_500;

test("no waiter passes a latch whose count its server does not show yet", async () => {
  const { ahead, behind } = await oneBehind();
  await ahead.countDownLatch("l").trySetCount(1);
  await expect(behind.countDownLatch("l").wait({ waitMs })).rejects.toThrow(AcquireTimeoutError);
});

test("no waiter passes a barrier that its server does not show as shut yet", async () => {
  const { ahead, behind } = await oneBehind();
  await ahead.barrier("b").shut();
  await expect(behind.barrier("b").wait({ waitMs })).rejects.toThrow(AcquireTimeoutError);
});

test("no waiter passes a shut barrier because its session ends right after it has seen that behind a sync, and the next server lags", async () => {
  const { server, ahead, behind } = await oneBehind();
  await ahead.barrier("b").shut();
  const read = { op: "getData", path: "/holdfast/b" } as const;
  // The first look finds no node, the second one is behind the sync, and the third one sets the watch.
  const ended = server.faults.on({ ...read, nth: 3 }, { do: "expire" });
  const lagging = server.faults.on({ ...read, nth: 4 }, { do: "answer", err: "NoNode" });
  await expect(behind.barrier("b").wait({ waitMs: 3_000 })).rejects.toThrow(AcquireTimeoutError);
  expect([ended.hits.length, lagging.hits.length]).toEqual([1, 1]);
});
