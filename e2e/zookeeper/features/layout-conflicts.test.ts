import { LayoutConflictError } from "@holdfast/core";
import { eventually, startZooKeeper, type ZooKeeperNode } from "@holdfast/test-servers";
import { CreateFlags } from "@holdfast/zk-protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connected } from "../../support/providers.js";
import { Operator, withoutGuid } from "./operator.js";
import { rejection } from "./rejection.js";

let server: ZooKeeperNode;

beforeAll(async () => {
  server = await startZooKeeper({
    sequences: {
      "/quiet": 999_999_999,
      "/spent": 1_999_999_999,
      "/spent-with-a-queue": 1_999_999_999,
      "/past-all": 2_147_483_646,
    },
  });
});
afterAll(() => server.stop());

const uuid = "0123abcd-0123-4abc-8abc-0123456789ab";

describe("a high sequence counter", () => {
  it("is reported from 1,000,000,000 on, and not one before", async () => {
    const locks = await connected(server.connectString);
    const told: number[] = [];
    locks.events.on("sequence-high", ({ sequence, name, kind }) => {
      expect({ name, kind }).toEqual({ name: "/quiet", kind: "mutex" });
      told.push(sequence);
    });
    const operator = await Operator.connect(server.connectString);
    for (const [number, expected] of [
      ["lock-0999999999", []],
      ["lock-1000000000", [1_000_000_000]],
      ["lock-1000000001", [1_000_000_000, 1_000_000_001]],
    ] as const) {
      const handle = await locks.mutex("/quiet").acquire();
      expect(withoutGuid(await operator.onlyChild("/quiet"))).toBe(number);
      expect(told).toEqual(expected);
      await handle.release();
    }
  });

  it("is refused from 2,000,000,000 on, naming path and number, and nothing is left", async () => {
    const locks = await connected(server.connectString);
    const operator = await Operator.connect(server.connectString);
    expect(await (await locks.mutex("/spent").acquire()).release()).toBe("released");
    for (const work of [
      () => locks.mutex("/spent").acquire(),
      () => locks.mutex("/spent").tryAcquire(),
      () => locks.reentrantMutex("/spent").withLock(() => expect.fail("nobody may hold this")),
    ]) {
      const { error } = await rejection(work);
      expect(error).toBeInstanceOf(LayoutConflictError);
      expect(error).toMatchObject({ code: "HF_LAYOUT_CONFLICT", retryable: false, lockName: "/spent" });
      expect(error.message).toMatch(/\/spent stands at 200000000\d/);
      expect(await operator.children("/spent")).toEqual([]);
    }
  });

  it("is refused to a client that would queue, while the holder goes on holding", async () => {
    const locks = await connected(server.connectString);
    const other = await connected(server.connectString);
    const handle = await locks.mutex("/spent-with-a-queue").acquire();
    const { error } = await rejection(() => other.mutex("/spent-with-a-queue").acquire({ waitMs: 5_000 }));
    expect(error).toBeInstanceOf(LayoutConflictError);
    await handle.confirm();
    const operator = await Operator.connect(server.connectString);
    expect(await operator.children("/spent-with-a-queue")).toHaveLength(1);
    await handle.release();
  });

  it("that is stuck at its end gives no client the lock", async () => {
    const locks = await connected(server.connectString);
    const operator = await Operator.connect(server.connectString);
    for (let attempt = 0; attempt < 3; attempt++) {
      const { error } = await rejection(() => locks.mutex("/past-all").acquire());
      expect(error).toBeInstanceOf(LayoutConflictError);
    }
    expect(await operator.children("/past-all")).toEqual([]);
  });
});

describe("another kind of lock on the path", () => {
  it.each([
    ["read-write-lock", `_c_${uuid}-__WRIT__`],
    ["semaphore", `_c_${uuid}-lease-`],
    ["leader-latch", `_c_${uuid}-latch-`],
    ["kazoo", "0123456789abcdef0123456789abcdef__lock__"],
  ])("is refused by its name: %s", async (family, name) => {
    const path = `/mixed-${family}`;
    const operator = await Operator.connect(server.connectString);
    await operator.create(path);
    const foreign = await operator.create(`${path}/${name}`, { flags: CreateFlags.ephemeralSequential });
    const locks = await connected(server.connectString);
    for (const work of [
      () => locks.mutex(path).acquire({ waitMs: 60_000 }),
      () => locks.mutex(path).tryAcquire(),
    ]) {
      const { error, tookMs } = await rejection(work);
      expect(error).toBeInstanceOf(LayoutConflictError);
      expect(error.message).toContain(path);
      expect(error.message).toContain(family);
      expect(error.message).toContain(withoutGuid(foreign));
      expect(tookMs).toBeLessThan(50_000);
    }
    expect(await operator.children(path)).toHaveLength(1);
    await operator.delete(foreign);
    expect(await (await locks.mutex(path).acquire()).release()).toBe("released");
  });
});

describe("a foreign child", () => {
  it("that sorts before every contender is named in the error of an acquire that would wait for ever", async () => {
    const operator = await Operator.connect(server.connectString);
    await operator.create("/barred");
    await operator.create("/barred/-abc");
    const locks = await connected(server.connectString);
    const { error, tookMs } = await rejection(() => locks.mutex("/barred").acquire({ waitMs: 60_000 }));
    expect(error).toBeInstanceOf(LayoutConflictError);
    expect(error.message).toContain("-abc");
    expect(error.message).toContain("/barred");
    expect(tookMs).toBeLessThan(50_000);
    expect(await operator.children("/barred")).toEqual(["-abc"]);
  });

  it("that comes while others wait blocks none: the second in the queue is granted, the one that lists is refused", async () => {
    const operator = await Operator.connect(server.connectString);
    const [locks, second, third] = await Promise.all([
      connected(server.connectString),
      connected(server.connectString),
      connected(server.connectString),
    ]);
    const path = "/barred-later";
    const queued = (count: number) =>
      eventually(async () => (await locks.mutex(path).inspect()).pendingTotal === count, {
        what: `${count} waiters`,
      });
    const holder = await locks.mutex(path).acquire();
    const granted = second.mutex(path).acquire({ waitMs: 10_000 });
    await queued(1);
    const refused = third.mutex(path).acquire({ waitMs: 10_000 });
    const refusal = expect(refused).rejects.toMatchObject({
      code: "HF_LAYOUT_CONFLICT",
      message: expect.stringContaining("-abc"),
    });
    await queued(2);
    // These answers arrive behind those to the waiters' watches. Both waiters know the queue without the foreign child.
    await Promise.all([second.mutex(path).inspect(), third.mutex(path).inspect()]);
    await operator.create(`${path}/-abc`);
    expect(await holder.release()).toBe("released");
    await refusal;
    expect(await (await granted).release()).toBe("released");
    expect(await operator.children(path)).toEqual(["-abc"]);
  });

  it("that sorts behind the contenders disturbs none of them", async () => {
    const operator = await Operator.connect(server.connectString);
    await operator.create("/onlooker");
    await operator.create("/onlooker/zebra");
    const [locks, other] = await Promise.all([
      connected(server.connectString),
      connected(server.connectString),
    ]);
    const holder = await locks.mutex("/onlooker").acquire();
    const waiting = other.mutex("/onlooker").acquire({ waitMs: 10_000 });
    await eventually(async () => (await locks.mutex("/onlooker").inspect()).pendingTotal === 1, {
      what: "the waiter in the queue",
    });
    await holder.release();
    expect(await (await waiting).release()).toBe("released");
    expect(await operator.children("/onlooker")).toEqual(["zebra"]);
  });
});
