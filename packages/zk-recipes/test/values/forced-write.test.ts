import { type EmbeddedZooKeeper, startEmbeddedZooKeeper } from "@holdfast/test-servers";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { type ZooKeeperLocks, zookeeperLocks } from "../../src/index.js";

let server: EmbeddedZooKeeper;
let locks: ZooKeeperLocks;

beforeEach(async () => {
  server = await startEmbeddedZooKeeper();
  onTestFinished(() => server.stop());
  locks = zookeeperLocks({ connect: server.connectString, sessionTimeoutMs: 20_000 });
  onTestFinished(async () => void (await locks.close({ releaseTimeoutMs: 500 })));
  await locks.ready();
});

describe("a write whose answer was lost before an outage that outlasts connectTimeoutMs", () => {
  const writes: Record<string, () => Promise<unknown>> = {
    "add() of an atomic long": () => locks.atomicLong("/n").add(1n),
    "set() of an atomic long": () => locks.atomicLong("/n").set(2n),
    "trySet() of a count": async () => {
      const count = locks.sharedCount("/count", 1);
      return await count.trySet(await count.get(), 2);
    },
  };
  test.each(Object.keys(writes))("%s does not say that it can be made again", async (what) => {
    const impatient = zookeeperLocks({
      connect: server.connectString,
      sessionTimeoutMs: 20_000,
      connectTimeoutMs: 300,
    });
    onTestFinished(async () => void (await impatient.close({ releaseTimeoutMs: 100 })));
    // The short time is for the outage below. The first connection may take longer on a busy machine.
    await impatient.ready({ waitMs: 20_000 });
    locks = impatient;
    await locks.atomicLong("/n").add(0n);
    await locks.sharedCount("/count", 1).get();
    server.faults.on({ op: "setData" }, { do: "close", when: "applied" });
    server.faults.on({ op: "connect" }, { do: "run", call: () => server.pause() });
    await expect(writes[what]?.()).rejects.toMatchObject({
      code: "HF_BACKEND",
      retryable: false,
      message: expect.stringMatching(/could not be read .*may or may not have been applied/),
    });
  });
});

describe("a set() whose answer was lost", () => {
  const sets: Record<string, () => Promise<() => Promise<void>>> = {
    "of a number": async () => {
      await locks.atomicLong("/n").set(1n);
      return () => locks.atomicLong("/n").set(2n);
    },
    "of a count that was read": async () => {
      const count = locks.sharedCount("/n", 1);
      await count.get();
      return () => count.set(2);
    },
  };
  test.each(Object.keys(sets))(
    "%s does not bring a node back that another client has deleted",
    async (what) => {
      const set = await sets[what]?.();
      server.faults.on({ op: "setData" }, { do: "close", when: "applied" });
      server.faults.on({ op: "connect" }, { do: "run", call: () => server.operator.delete("/n") });
      await expect(set?.()).rejects.toMatchObject({
        code: "HF_BACKEND",
        retryable: false,
        message: expect.stringContaining("may or may not have been"),
      });
      expect(server.operator.exists("/n")).toBeNull();
    },
  );

  test("is sent again where it was to make the node, and there is none", async () => {
    server.faults.on({ op: "create2" }, { do: "close" });
    await locks.atomicLong("/n").set(2n);
    expect(await locks.atomicLong("/n").get()).toBe(2n);
  });

  test("is sent again where it was to make the node and its parents, and there is none of them", async () => {
    const cut = server.faults.on({ op: "createContainer", path: "/a" }, { do: "close" });
    await locks.atomicLong("/a/b/n").set(2n);
    expect(cut.hits).toHaveLength(1);
    expect(await locks.atomicLong("/a/b/n").get()).toBe(2n);
  });
});

describe("a write that made the node, whose answer was lost, does not bring the node back after another client has deleted it", () => {
  const writes: Record<string, () => Promise<unknown>> = {
    "set() of a number": () => locks.atomicLong("/n").set(2n),
    "add() of a number": () => locks.atomicLong("/n").add(2n),
    "trySetCount() of a latch": () => locks.countDownLatch("/n").trySetCount(2),
    "replace() of a record": () => locks.record("/n").replace(null, "v7"),
  };
  test.each(Object.keys(writes))("%s", async (what) => {
    const made = server.faults.on({ op: "create2" }, { do: "close", when: "applied" });
    server.faults.on({ op: "connect" }, { do: "run", call: () => server.operator.delete("/n") });
    await expect(writes[what]?.()).rejects.toMatchObject({
      code: "HF_BACKEND",
      retryable: false,
      message: expect.stringContaining("may or may not have been"),
    });
    expect(made.hits).toHaveLength(1);
    expect(server.operator.exists("/n")).toBeNull();
  });
});
