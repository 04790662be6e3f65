import type { LockHandle } from "@holdfast/core";
import { eventually } from "@holdfast/test-servers";
import { zookeeperLocks } from "@holdfast/zk-recipes";
import zookeeper from "node-zookeeper-client";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { locks, other, path, proxy, server, setTheStage } from "./stage.js";

setTheStage("/kept", { keepMs: 20_000, maxKeepMs: 60_000 });
beforeEach(async () => {
  // Makes the lock's own path too.
  await (await other.mutex(path).acquire()).release();
  proxy.reset();
});

const take = (fresh = false): Promise<LockHandle> => locks.mutex(path).acquire({ fresh });

/** Takes and releases the lock twice, and waits until the reads that follow are answered. */
async function keep(): Promise<void> {
  expect(await (await take()).release()).toBe("released");
  expect(await (await take()).release()).toBe("kept");
  await eventually(() => answers("getChildren2") === 3 && answers("getData") === 1, {
    what: "the answers for which a lend would wait",
  });
}

function answers(op: string): number {
  return proxy.trace.filter((entry) => entry.kind === "reply" && entry.op === op).length;
}

/** The number of requests by operation, without keep-alive. */
function asked(): Record<string, number> {
  const { ping: _ping, sync: _sync, ...byOp } = proxy.counts().byOp as Record<string, number>;
  return byOp;
}

describe("a kept mutex on ZooKeeper", () => {
  it("costs two pairs and two reads, and then no request for 1,000 pairs", async () => {
    await keep();
    expect(asked()).toEqual({ create2: 2, getChildren2: 3, delete: 1, getData: 1 });
    proxy.reset();
    const owners = new Set<string>();
    for (let pair = 1; pair <= 1_000; pair++) {
      const handle = await take();
      expect(handle.turn).toBe(pair);
      owners.add(handle.owner.id);
      expect(await handle.release()).toBe("kept");
    }
    expect(owners.size).toBe(1_000);
    expect(asked()).toEqual({});
  });

  it("costs nothing extra where names are used once, or in turn with another client", async () => {
    for (let name = 0; name < 3; name++) {
      proxy.reset();
      await (await locks.mutex(`${path}-${name}`).acquire()).release();
      const { createContainer: _parents, ...requests } = asked();
      expect(requests).toEqual({ create2: requests.create2, getChildren2: requests.create2, delete: 1 });
    }
    proxy.reset();
    for (let turn = 0; turn < 5; turn++) {
      await (await other.mutex(path).acquire()).release();
      expect(await (await take()).release()).toBe("released");
    }
    expect(asked()).toEqual({ create2: 5, getChildren2: 5, delete: 5 });
  });

  it("ends by one delete in the same write as the create of a request that is not alike", async () => {
    await keep();
    proxy.reset();
    const handle = await take(true);
    expect(handle.turn).toBe(0);
    const { requests, flights } = proxy.counts();
    expect({ requests, flights }).toEqual({ requests: 3, flights: 1 });
    expect(asked()).toEqual({ delete: 1, create2: 1, getChildren2: 1 });
  });

  it.each(["getData", "getChildren2"] as const)(
    "is lent only once %s was answered too: an owner in between waits for that, and for no more",
    async (op) => {
      await (await take()).release();
      const second = await take();
      proxy.reset();
      const held = proxy.holdReply({ op });
      expect(await second.release()).toBe("kept");
      let granted = false;
      const waiting = take().then((handle) => {
        granted = true;
        return handle;
      });
      await proxy.waitFor((entry) => entry.kind === "request" && entry.op === "getChildren2");
      // A whole `inspect` of another client takes longer than the turns of the event loop and the answer that is not held.
      await other.mutex(path).inspect();
      expect(granted).toBe(false);
      held.release();
      expect((await waiting).turn).toBe(1);
      expect(asked()).toEqual({ getData: 1, getChildren2: 1 });
    },
  );

  it("is given back when the children show another contender before it is lent, and that one is granted", async () => {
    await (await take()).release();
    const second = await take();
    // The holder does not notice this waiter yet: it watches no node of a lock that it has held for so short a time.
    const waiting = other.mutex(path).acquire();
    await eventually(async () => (await other.mutex(path).inspect()).pendingTotal === 1, {
      what: "the other client in the queue",
    });
    expect(await second.release()).toBe("kept");
    await (await waiting).release();
    expect(locks.kept()).toEqual([]);
  });

  it("marks its nodes only where the provider keeps, and a call that asks once waits only behind a mark", async () => {
    const names = async () => (await other.mutex(path).inspect()).held.map(({ backendId }) => backendId);
    const marked = await take();
    expect(await names()).toEqual([
      expect.stringMatching(/\/_c_[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-e[0-9a-f]{3}-/),
    ]);
    const beganMs = performance.now();
    expect(await other.mutex(path).tryAcquire()).toBeNull();
    expect(performance.now() - beganMs).toBeGreaterThanOrEqual(49);
    await marked.release({ keep: false });
    const plain = await other.mutex(path).acquire();
    expect(await names()).toEqual([
      expect.stringMatching(/\/_c_[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab]/),
    ]);
    proxy.reset();
    expect(await locks.mutex(path).tryAcquire()).toBeNull();
    expect(asked()).toEqual({ create2: 1, getChildren2: 1, delete: 1 });
    await plain.release();
  });

  it("is given up when contact breaks, and its node is deleted with the next contact", async () => {
    await keep();
    await proxy.setMode("reset");
    await eventually(() => locks.kept().length === 0, { what: "the keeping to be over" });
    expect((await other.mutex(path).inspect()).held).toHaveLength(1);
    await proxy.setMode("ok");
    await eventually(async () => (await other.mutex(path).inspect()).held.length === 0, {
      what: "the node to be deleted",
    });
    await locks.ready();
  });

  it("goes with the session when the provider closes, and by a delete where the session is not the provider's own", async () => {
    const isFree = async () => (await other.mutex(path).inspect()).held.length === 0;
    await keep();
    proxy.reset();
    expect(await locks.close()).toEqual({ released: 0, unconfirmed: [] });
    expect(asked()).toEqual({ closeSession: 1 });
    await eventually(isFree, { what: "the node to go with its session" });

    const client = zookeeper.createClient(server.connectString, { sessionTimeout: 6_000 });
    onTestFinished(() => client.close());
    client.connect();
    const over = zookeeperLocks({ client, keepMs: 20_000 });
    await over.ready();
    for (let pair = 0; pair < 2; pair++) await (await over.mutex(path).acquire()).release();
    expect(over.kept()).toHaveLength(1);
    expect(await over.close()).toEqual({ released: 0, unconfirmed: [] });
    await eventually(isFree, { what: "the node to be deleted" });
    expect(client.getState()).toBe(zookeeper.State.SYNC_CONNECTED);
  });
});
