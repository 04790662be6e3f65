import { startEmbeddedZooKeeper } from "@holdfast/test-servers";
import { expect, onTestFinished, test } from "vitest";
import { zookeeperLocks } from "../../src/index.js";

test("updates of one value that an outage finds waiting reject together, and what is tried again waits anew", async () => {
  const server = await startEmbeddedZooKeeper();
  onTestFinished(() => server.stop());
  const locks = zookeeperLocks({
    connect: server.connectString,
    sessionTimeoutMs: 20_000,
    connectTimeoutMs: 400,
  });
  onTestFinished(async () => void (await locks.close({ releaseTimeoutMs: 500 })));
  // The short time is for the outage below. The first connection may take longer on a busy machine.
  await locks.ready({ waitMs: 20_000 });
  const long = locks.atomicLong("/n");
  await long.set(1n);
  const away = server.faults.on({ op: "connect", times: Number.POSITIVE_INFINITY }, { do: "close" });
  server.faults.on({ op: "getData" }, { do: "close" });
  const startedMs = performance.now();
  const ends = await Promise.allSettled(
    Array.from({ length: 10 }, () => long.add(1n).catch(() => long.add(1n))),
  );
  const tookMs = performance.now() - startedMs;
  for (const end of ends) expect(end).toMatchObject({ status: "rejected", reason: { code: "HF_BACKEND" } });
  // First the first update waits for contact in vain, then all those behind it together, then all of them once more.
  expect(tookMs).toBeGreaterThan(1_000);
  // Ten that waited one after the other would take 4,000 ms, in either round.
  expect(tookMs).toBeLessThan(4_000);
  away.release();
  await locks.ready({ waitMs: 10_000 });
  expect(await long.add(1n)).toBe(2n);
});
