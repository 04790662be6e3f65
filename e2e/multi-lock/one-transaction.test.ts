import { multiLock } from "@holdfast/multi-lock";
import {
  eventually,
  startZooKeeper,
  startZooKeeperProxy,
  type ZooKeeperNode,
  type ZooKeeperProxy,
} from "@holdfast/test-servers";
import type { ZooKeeperLocks } from "@holdfast/zk-recipes";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { connected } from "../support/providers.js";
import { Operator } from "../zookeeper/features/operator.js";

let server: ZooKeeperNode;
let proxy: ZooKeeperProxy;
let locks: ZooKeeperLocks;
let other: ZooKeeperLocks;
let operator: Operator;
let paths: readonly [string, string, string];
let count = 0;

beforeAll(async () => {
  server = await startZooKeeper({ maxClientCnxns: 0 });
  proxy = await startZooKeeperProxy({ target: server.connectString });
});
afterAll(async () => {
  await proxy?.close();
  await server?.stop();
});
beforeEach(async () => {
  locks = await connected(proxy.connectString);
  other = await connected(server.connectString);
  operator = await Operator.connect(server.connectString);
  const root = `/multi-lock-${count++}`;
  paths = [`${root}/a`, `${root}/b`, `${root}/c`];
  for (const path of [root, ...paths]) await operator.create(path);
  proxy.reset();
});

const ours = () => multiLock([...paths].reverse().map((path) => locks.mutex(path)));
const entries = async () =>
  await Promise.all(paths.map(async (path) => (await operator.children(path)).length));

describe("several locks of one session", () => {
  it("stay in no queue behind a lock that another client may only keep, as one lock alone would", async () => {
    const keeper = await connected(server.connectString, { keepMs: 20_000 });
    const asker = await connected(server.connectString, { keepAskMs: 5_000 });
    const held = await keeper.mutex(paths[0]).acquire();
    const asked = await multiLock(paths.map((path) => asker.mutex(path)))
      .acquire({ waitMs: 2_000 })
      .catch(String);
    expect(asked).toMatch(/^AcquireTimeoutError/);
    await eventually(async () => (await entries()).join() === "1,0,0", {
      what: "its place to be given back",
    });
    await held.release();
  });

  it("are taken in one transaction and one round trip when they are free", async () => {
    const handle = await ours().acquire();
    const { flights, byOp } = proxy.counts();
    expect(flights).toBe(1);
    // Keep-alives are sent when it is time, and pings after answers that take long. They do not count.
    const { ping: _ping, sync: _sync, ...asked } = byOp;
    expect(asked).toEqual({ multi: 1, getChildren2: 3 });
    const tokens = handle.parts.map(({ token }) => token);
    expect(new Set(tokens).size).toBe(1);
    expect(await entries()).toEqual([1, 1, 1]);
    proxy.reset();
    expect(await handle.release()).toBe("released");
    // No request waits for the answer to another.
    expect(proxy.counts()).toMatchObject({ requests: 3, flights: 1 });
    expect(await entries()).toEqual([0, 0, 0]);
  });

  it("are not taken, and nothing is left, when one is held elsewhere and the caller does not wait", async () => {
    const holder = await other.mutex(paths[1]).acquire();
    expect(await ours().tryAcquire()).toBeNull();
    expect(proxy.counts().byOp.multi).toBe(1);
    expect(await entries()).toEqual([0, 1, 0]);
    await holder.release();
  });

  it("are waited for one by one: what comes behind the one that is waited for stays free", async () => {
    const holder = await other.mutex(paths[1]).acquire();
    const waiting = ours().acquire({ waitMs: 20_000 });
    await eventually(async () => String(await entries()) === "1,2,0", {
      what: "a place behind the holder alone",
    });
    const last = await other.mutex(paths[2]).acquire({ waitMs: 5_000 });
    await last.release();
    await holder.release();
    const handle = await waiting;
    expect(handle.parts.map(({ name }) => name)).toEqual(paths);
    await handle.confirm();
    expect(await handle.release()).toBe("released");
    expect(await entries()).toEqual([0, 0, 0]);
  });

  it("are no deadlock with a client that takes the same locks one by one in their order", async () => {
    const first = await other.mutex(paths[0]).acquire();
    const waiting = ours().acquire({ waitMs: 20_000 });
    await eventually(async () => String(await entries()) === "2,0,0", {
      what: "a place behind the holder alone",
    });
    const rest = [];
    for (const path of paths.slice(1)) rest.push(await other.mutex(path).acquire({ waitMs: 5_000 }));
    for (const handle of [...rest.reverse(), first]) await handle.release();
    await (await waiting).release();
  });

  it("are given back without a rest when the session of the client ends while it waits", async () => {
    const holder = await other.mutex(paths[2]).acquire();
    const gone = multiLock(paths.map((path) => locks.mutex(path))).acquire({ waitMs: 20_000 });
    const rejected = expect(gone).rejects.toMatchObject({ code: "HF_PROVIDER_CLOSED" });
    await eventually(async () => String(await entries()) === "1,1,2", {
      what: "two held and one waited for",
    });
    await locks.close();
    await rejected;
    expect(await entries()).toEqual([0, 0, 1]);
    await holder.release();
  });
});
