import { startEmbeddedZooKeeper } from "@holdfast/test-servers";
import { describe, expect, onTestFinished, test } from "vitest";
import { type ZooKeeperLocks, zookeeperLocks } from "../../src/index.js";

type Use = (locks: ZooKeeperLocks, name: string) => Promise<unknown>;

const uses: Record<string, Use> = {
  "the acquire of a naive mutex": (locks, name) => locks.naiveMutex(name).acquire({ waitMs: 5_000 }),
  "the acquire of a mutex": (locks, name) => locks.mutex(name).acquire({ waitMs: 5_000 }),
  "a barrier that is shut": (locks, name) => locks.barrier(name).shut(),
  "a barrier that is waited at": (locks, name) => locks.barrier(name).wait({ waitMs: 5_000 }),
  "a latch that is set": (locks, name) => locks.countDownLatch(name).trySetCount(1),
  "a record that is read": (locks, name) => locks.record(name).read(),
  "a record that is begun": (locks, name) => locks.record(name).replace(null, "text"),
  "a record that is replaced": (locks, name) => locks.record(name).replace("seen", "text"),
  "a count that is read": (locks, name) => locks.sharedCount(name, 1).get(),
  "a count that is set": (locks, name) => locks.sharedCount(name, 1).set(2),
  "a value that is set": (locks, name) => locks.sharedValue(name, Buffer.from("a")).set(Buffer.from("b")),
  "a number that is set": (locks, name) => locks.atomicLong(name).set(1n),
  "a number that is added to": (locks, name) => locks.atomicLong(name).add(1n),
};

describe.each([
  ["right below it", "/holdfast", "/x"],
  ["in root /", "/", "x"],
])("below a chroot that does not exist, with a name %s,", (_where, root, name) => {
  test.each(Object.keys(uses))("%s rejects naming the chroot, after three creates at most", async (what) => {
    const server = await startEmbeddedZooKeeper();
    onTestFinished(() => server.stop());
    const locks = zookeeperLocks({ connect: `${server.connectString}/nowhere`, root });
    onTestFinished(async () => void (await locks.close({ releaseTimeoutMs: 500 })));
    await locks.ready();
    const creates = server.faults.on(
      { op: "create2", times: Number.POSITIVE_INFINITY },
      { do: "run", call: () => {} },
    );
    const used = (uses[what] as Use)(locks, name);
    await expect(used).rejects.toMatchObject({
      code: "HF_BACKEND",
      retryable: false,
      message: expect.stringContaining("the chroot /nowhere does not exist"),
    });
    expect(creates.hits.length).toBeLessThanOrEqual(3);
  });
});
