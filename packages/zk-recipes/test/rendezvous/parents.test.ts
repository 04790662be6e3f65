import { LayoutConflictError } from "@holdfast/core";
import { type EmbeddedZooKeeper, startEmbeddedZooKeeper } from "@holdfast/test-servers";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { type ZooKeeperLocks, zookeeperLocks } from "../../src/index.js";

let server: EmbeddedZooKeeper;
let locks: ZooKeeperLocks;

beforeEach(async () => {
  server = await startEmbeddedZooKeeper();
  onTestFinished(() => server.stop());
  locks = zookeeperLocks({ connect: server.connectString });
  onTestFinished(async () => void (await locks.close()));
  await locks.ready();
});

const writes: Record<string, () => Promise<unknown>> = {
  "shut() of a barrier": () => locks.barrier("jobs").shut(),
  "replace() of a record": () => locks.record("jobs").replace(null, "v7"),
  "add() of a number": () => locks.atomicLong("jobs").add(1n),
  "compareAndSet() of a number": () => locks.atomicLong("jobs").compareAndSet(0n, 1n),
  "trySet() of a value": async () => {
    const value = locks.sharedValue("jobs", Buffer.from("seed"));
    return await value.trySet(await value.get(), Buffer.from("new"));
  },
};

test("shut() of a barrier on the node of a naive mutex, whose release would open it, is a layout conflict", async () => {
  const held = await locks.naiveMutex("jobs").acquire();
  await expect(locks.barrier("jobs").shut()).rejects.toBeInstanceOf(LayoutConflictError);
  await held.release();
  await locks.barrier("jobs").shut();
});

describe.each(Object.keys(writes))("%s", (what) => {
  const write = () => (writes[what] as () => Promise<unknown>)();

  test("on the path of a lock, which ZooKeeper deletes when the lock is idle, is a layout conflict", async () => {
    await locks.mutex("jobs").withLock(() => {});
    await expect(write()).rejects.toBeInstanceOf(LayoutConflictError);
    expect(server.clean()).toBe(1);
  });

  test("above a lock that is held is a layout conflict", async () => {
    await using _ = await locks.mutex("/holdfast/jobs/below").acquire();
    await expect(write()).rejects.toBeInstanceOf(LayoutConflictError);
  });

  test("on a node that an operator has made without data, and that never had children, is done", async () => {
    server.operator.create("/holdfast");
    server.operator.create("/holdfast/jobs");
    await write();
  });

  test("is done again on a node of its own that has children", async () => {
    // A comparison with a number that does not exist makes no node.
    if (what.startsWith("compareAndSet")) await locks.atomicLong("jobs").set(0n);
    else await write();
    server.operator.create("/holdfast/jobs/below");
    await write();
  });
});
