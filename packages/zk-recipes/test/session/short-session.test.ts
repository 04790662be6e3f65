import { startEmbeddedZooKeeper } from "@holdfast/test-servers";
import { expect, onTestFinished, test } from "vitest";
import { zookeeperLocks } from "../../src/index.js";

test("a server that grants sessions of 100 ms is not greeted again and again, and its locks are granted", async () => {
  const server = await startEmbeddedZooKeeper({ minSessionTimeoutMs: 100 });
  onTestFinished(() => server.stop());
  const greetings = server.faults.on(
    { op: "connect", times: Number.POSITIVE_INFINITY },
    { do: "run", call: () => {} },
  );
  const locks = zookeeperLocks({ connect: server.connectString, sessionTimeoutMs: 100 });
  onTestFinished(async () => void (await locks.close({ releaseTimeoutMs: 500 })));
  for (let grants = 0; grants < 10; grants++) await (await locks.mutex("a").acquire()).release();
  // A session that was lost on a busy machine is opened again. That may be some, but not one for each turn of the event loop.
  expect(greetings.hits.length).toBeLessThan(100);
});
