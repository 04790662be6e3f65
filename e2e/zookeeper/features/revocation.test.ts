import { once } from "node:events";
import { eventually, startZooKeeper, startZooKeeperProxy, type ZooKeeperNode } from "@holdfast/test-servers";
import type { ZooKeeperLocks } from "@holdfast/zk-recipes";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { connected } from "../../support/providers.js";
import { Operator } from "./operator.js";

let server: ZooKeeperNode;
let locks: ZooKeeperLocks;
let other: ZooKeeperLocks;
let path: string;
let paths = 0;

beforeAll(async () => {
  server = await startZooKeeper();
});
afterAll(() => server.stop());
beforeEach(async () => {
  path = `/revoke/l${paths++}`;
  [locks, other] = await Promise.all([connected(server.connectString), connected(server.connectString)]);
});

async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, "abort", { signal: AbortSignal.timeout(5_000) });
}

/** Counts the `revoke-requested` events of one provider. */
function revocations(of: ZooKeeperLocks): { count: number } {
  const heard = { count: 0 };
  of.events.on("revoke-requested", ({ name }) => {
    expect(name).toBe(path);
    heard.count++;
  });
  return heard;
}

describe("a revocable hold", () => {
  it("hears of it once, however often it is asked, and stays held until it is released", async () => {
    const heard = revocations(locks);
    const handle = await locks.mutex(path).acquire({ revocable: true });
    const next = other.mutex(path).acquire();
    expect(await other.mutex(path).requestRevoke()).toBe(true);
    await aborted(handle.revokeRequested);
    expect(await other.mutex(path).requestRevoke()).toBe(true);
    // These answers arrive behind an event of the second request.
    await handle.confirm();
    await locks.mutex(path).inspect();
    expect(heard.count).toBe(1);
    expect(handle.state).toBe("held");
    expect(handle.lost.aborted).toBe(false);
    expect(await handle.release()).toBe("released");
    expect(await (await next).release()).toBe("released");
  });

  it("may be asked by its own provider", async () => {
    const handle = await locks.mutex(path).acquire({ revocable: true });
    expect(await locks.mutex(path).requestRevoke()).toBe(true);
    await aborted(handle.revokeRequested);
    await handle.release();
  });

  it("of a re-entrant mutex hears of it too", async () => {
    await locks.reentrantMutex(path).withLock({ revocable: true }, async (lock) => {
      expect(await other.reentrantMutex(path).requestRevoke()).toBe(true);
      await aborted(lock.revokeRequested);
    });
  });

  it("finds a message that was written before its watch was there", async () => {
    const proxy = await startZooKeeperProxy({ target: server.connectString });
    onTestFinished(() => proxy.close());
    const behind = await connected(proxy.connectString);
    const rule = proxy.holdRequest({ op: "getData" });
    const handle = await behind.mutex(path).acquire({ revocable: true });
    expect(await other.mutex(path).requestRevoke()).toBe(true);
    await rule.hit();
    expect(handle.revokeRequested.aborted).toBe(false);
    rule.release();
    await aborted(handle.revokeRequested);
    expect(handle.state).toBe("held");
    await handle.release();
  });

  it("finds a message that was written while it still waited", async () => {
    const operator = await Operator.connect(server.connectString);
    const first = await other.mutex(path).acquire();
    const heard = revocations(locks);
    const waiting = locks.mutex(path).acquire({ revocable: true });
    const place = await eventually(async () => (await other.mutex(path).inspect()).pending[0], {
      what: "the waiter",
    });
    await operator.write(place.backendId, "__REVOKE__");
    await first.release();
    const handle = await waiting;
    await aborted(handle.revokeRequested);
    expect(heard.count).toBe(1);
    await handle.release();
  });

  it("that is released hears no more: the next holder is asked", async () => {
    const heard = revocations(locks);
    const first = await locks.mutex(path).acquire({ revocable: true });
    const { revokeRequested } = first;
    await first.release();
    const second = await locks.mutex(path).acquire({ revocable: true });
    expect(await other.mutex(path).requestRevoke()).toBe(true);
    await aborted(second.revokeRequested);
    expect(revokeRequested.aborted).toBe(false);
    expect(heard.count).toBe(1);
    await second.release();
  });

  it("keeps listening through a cut link", async () => {
    const proxy = await startZooKeeperProxy({ target: server.connectString });
    onTestFinished(() => proxy.close());
    const behind = await connected(proxy.connectString);
    const handle = await behind.mutex(path).acquire({ revocable: true });
    await proxy.waitFor((entry) => entry.kind === "reply" && entry.op === "getData");
    await proxy.setMode("refuse");
    proxy.resetAll();
    expect(await other.mutex(path).requestRevoke()).toBe(true);
    expect(handle.revokeRequested.aborted).toBe(false);
    await proxy.setMode("ok");
    await aborted(handle.revokeRequested);
    await handle.release();
  });
});

describe("a hold that is not revocable", () => {
  it("does not notice, and the client that asked is not let in", async () => {
    const heard = revocations(locks);
    const handle = await locks.mutex(path).acquire();
    const { lost, revokeRequested } = handle;
    expect(await other.mutex(path).requestRevoke()).toBe(true);
    await handle.confirm();
    await locks.mutex(path).inspect();
    expect(revokeRequested.aborted).toBe(false);
    expect(lost.aborted).toBe(false);
    expect(heard.count).toBe(0);
    expect(await other.mutex(path).tryAcquire()).toBeNull();
    expect(await handle.release()).toBe("released");
  });
});

describe("requestRevoke()", () => {
  it("says false where there is no holder: never held, or released", async () => {
    expect(await other.mutex(path).requestRevoke()).toBe(false);
    await (await locks.mutex(path).acquire()).release();
    expect(await other.mutex(path).requestRevoke()).toBe(false);
  });

  it("asks the holder and not those who wait", async () => {
    const operator = await Operator.connect(server.connectString);
    const handle = await locks.mutex(path).acquire({ revocable: true });
    const waiting = other.mutex(path).acquire();
    const place = await eventually(async () => (await locks.mutex(path).inspect()).pending[0], {
      what: "the waiter",
    });
    await other.mutex(path).requestRevoke();
    const holder = (await locks.mutex(path).inspect()).held[0]?.backendId as string;
    expect((await operator.read(holder)).data).toBe("__REVOKE__");
    expect((await operator.read(place.backendId)).data).not.toBe("__REVOKE__");
    await aborted(handle.revokeRequested);
    await handle.release();
    await (await waiting).release();
  });
});
