import { InvalidArgumentError } from "@holdfast/core";
import { type EmbeddedZooKeeper, eventually, startEmbeddedZooKeeper } from "@holdfast/test-servers";
import type { Stat } from "@holdfast/zk-protocol";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { type ZooKeeperLocks, zookeeperLocks } from "../../src/index.js";
import { encodeInt } from "../../src/layout/numbers.js";
import { WatchedNode } from "../../src/recipes/requests/watched-node.js";

let server: EmbeddedZooKeeper;

beforeEach(async () => {
  server = await startEmbeddedZooKeeper();
  onTestFinished(() => server.stop());
});

async function connected(): Promise<ZooKeeperLocks> {
  const provider = zookeeperLocks({ connect: server.connectString, sessionTimeoutMs: 6_000 });
  onTestFinished(async () => void (await provider.close({ releaseTimeoutMs: 500 })));
  await provider.ready();
  return provider;
}

test.each([
  ["an older version", 1],
  ["no node", null],
])(
  "trySet() of a client whose server lags behind and shows %s writes over the version that another client has seen",
  async (_what, first) => {
    const behind = await connected();
    const ahead = await connected();
    if (first !== null) await ahead.sharedCount("/n", first).set(2);
    const [session] = server.sessions();
    server.faults.staleReads(session?.id as bigint);
    const count = ahead.sharedCount("/n", 3);
    await count.set(4);
    const seen = await count.get();
    expect(await behind.sharedCount("/n", 0).trySet(seen, 5)).toBe(true);
    expect(await count.get()).toMatchObject({ value: 5 });
  },
);

describe("a client whose server lags behind", () => {
  let behind: ZooKeeperLocks;
  let ahead: ZooKeeperLocks;
  let lag: () => void;

  beforeEach(async () => {
    behind = await connected();
    ahead = await connected();
    const [session] = server.sessions();
    lag = () => void server.faults.staleReads(session?.id as bigint);
  });

  test("adds to a number that fits by now", async () => {
    const number = ahead.atomicLong("/n");
    await number.set(2n ** 63n - 1n);
    lag();
    await number.set(5n);
    expect(await behind.atomicLong("/n").add(1n)).toBe(6n);
  });

  test("is still refused a sum that does not fit", async () => {
    const number = ahead.atomicLong("/n");
    await number.set(5n);
    lag();
    await number.set(2n ** 63n - 1n);
    await expect(behind.atomicLong("/n").add(1n)).rejects.toBeInstanceOf(InvalidArgumentError);
  });

  test("adds to a number in the place of a naive mutex that was released", async () => {
    const mutex = await ahead.naiveMutex("/n").acquire();
    lag();
    await mutex.release();
    await ahead.atomicLong("/n").set(5n);
    expect(await behind.atomicLong("/n").add(1n)).toBe(6n);
  });

  test("adds to a number in the place of a parent of locks that is gone", async () => {
    await ahead.mutex("/n/lock").withLock(() => {});
    lag();
    for (const path of ["/n/lock", "/n"]) server.operator.delete(path);
    await ahead.atomicLong("/n").set(5n);
    expect(await behind.atomicLong("/n").add(1n)).toBe(6n);
  });
});

test("an observer of a value yields what is there after the ensemble was restored and its zxid has fallen", async () => {
  const locks = await connected();
  const count = locks.sharedCount("/n", 1);
  for (let value = 2; value < 20; value++) await count.set(value);
  const observer = count.observe()[Symbol.asyncIterator]();
  expect((await observer.next()).value).toMatchObject({ value: 19 });
  await server.restart({ keepState: false });
  const after = observer.next();
  await eventually(() => server.operator.exists("/n") !== null, { what: "the node", withinMs: 15_000 });
  expect((await after).value).toMatchObject({ value: 1 });
  await count.set(2);
  expect((await observer.next()).value).toMatchObject({ value: 2 });
  await observer.return?.();
});

test("an observer of a value takes no older write for a change where its server lags behind", async () => {
  const count = (await connected()).sharedCount("/n", 1);
  const old = await count.get();
  const observer = count.observe()[Symbol.asyncIterator]();
  await count.set(2);
  expect((await observer.next()).value).toMatchObject({ value: 2 });
  const { data, stat } = { data: encodeInt(old.value), stat: server.operator.exists("/n") as Stat };
  const lagging = vi.spyOn(WatchedNode.prototype, "read");
  onTestFinished(() => lagging.mockRestore());
  lagging.mockResolvedValueOnce({ data, stat: { ...stat, mzxid: old.version } });
  await count.set(3);
  expect((await observer.next()).value).toMatchObject({ value: 3 });
  expect(lagging).toHaveBeenCalledTimes(2);
  await observer.return?.();
});

test("two loops over one observed value both see each change", async () => {
  const count = (await connected()).sharedCount("/n", 1);
  const observed = count.observe();
  const loops = [observed[Symbol.asyncIterator](), observed[Symbol.asyncIterator]()];
  for (const each of loops) expect((await each.next()).value).toMatchObject({ value: 1 });
  for (const value of [2, 3]) {
    const next = loops.map((each) => each.next());
    await count.set(value);
    for (const each of next) expect((await each).value).toMatchObject({ value });
  }
  for (const each of loops) await each.return?.();
});
