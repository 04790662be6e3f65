import { eventually } from "@holdfast/test-servers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ContentionLog } from "../interop/contention-log.js";
import { behind } from "../interop/gate.js";
import { share } from "../support/share.js";
import { type KazooClient, type KazooPeer, startKazooPeer } from "./kazoo-peer.js";
import { startTarget, type Target, targetNames } from "./target.js";

describe.each(targetNames)("kazoo with %s", (name) => {
  let target: Target;
  let left: KazooPeer;
  let right: KazooPeer;
  let mine: KazooClient;
  let theirs: KazooClient;

  beforeAll(async () => {
    [target, left, right] = await Promise.all([startTarget(name), startKazooPeer(), startKazooPeer()]);
    const connect = target.connectString;
    [mine, theirs] = await Promise.all([left.connect({ connect }), right.connect({ connect })]);
    console.log(`kazoo ${left.version}`);
  });

  afterAll(async () => {
    await Promise.all([left?.close(), right?.close()]);
    await target?.[Symbol.asyncDispose]();
  });

  it("hears of every operation what a real server says", async () => {
    expect(await mine.tour("/kazoo/tour")).toEqual({
      ensure_path: "0",
      create: "/kazoo/tour/a",
      "create again": "NodeExistsError",
      "create without a parent": "NoNodeError",
      "create sequential": "/kazoo/tour/deep/n-0000000001",
      "create with its Stat": "3",
      "create ephemeral": "/kazoo/tour/e",
      "its owner": "True",
      "child of an ephemeral": "NoChildrenForEphemeralsError",
      get: "b'one'",
      set: "1",
      "set of another version": "BadVersionError",
      "get of nothing": "NoNodeError",
      "exists of nothing": "None",
      children: "['a', 'b', 'deep', 'e']",
      "children with Stat": "4",
      "delete of one with children": "NotEmptyError",
      delete: "True",
      sync: "/kazoo/tour",
      transaction: "[True, '/kazoo/tour/t', 1, True]",
      "transaction that fails": "['RolledBackError', 'NoNodeError', 'RuntimeInconsistency']",
      "what it left": "None",
      "create for one user": "/kazoo/tour/mine",
      "get by that user": "b'!'",
      "its ACL": "['digest']",
      "set ACL of another version": "BadVersionError",
      "set ACL": "1",
      "200 at once": "True",
      "delete recursively": "None",
    });
  });

  it("grants its lock to one client, then to the one that waits", async () => {
    const path = "/kazoo/turns";
    const first = await mine.lock(path, "first");
    const second = await theirs.lock(path, "second");
    const held = await first.acquire();
    expect(held?.path).toMatch(/^\/kazoo\/turns\/[0-9a-f]{32}__lock__0000000000$/);
    expect(await second.acquire({ waitMs: 0 })).toBeNull();
    expect(await second.acquire({ waitMs: 100 })).toBeNull();
    expect(await first.contenders()).toEqual(["first"]);

    const waiter = await theirs.lock(path, "waiter");
    let granted = false;
    const queued = waiter.acquire().then((node) => {
      granted = true;
      return node;
    });
    await expect.poll(() => first.contenders()).toEqual(["first", "waiter"]);
    expect(granted).toBe(false);
    expect(await first.release()).toBe(true);
    expect((await queued)?.czxid).toBeGreaterThan(held?.czxid ?? 0n);
    await waiter.release();
    expect(await mine.node("children", path)).toEqual([]);
  });

  it("takes a cancelled waiter out of the queue of its lock", async () => {
    const path = "/kazoo/cancel";
    const holder = await mine.lock(path, "holder");
    await holder.acquire();
    const cancelled = await theirs.lock(path, "cancelled");
    const queued = cancelled.acquire();
    const refused = expect(queued).rejects.toThrow("CancelledError");
    await expect.poll(() => holder.contenders()).toEqual(["holder", "cancelled"]);
    await cancelled.cancel();
    await refused;
    expect(await holder.contenders()).toEqual(["holder"]);
    await holder.release();
    expect(await mine.node("children", path)).toEqual([]);
  });

  it("loses no update of a file that only its lock protects, and grants in the order of the queue", async () => {
    const total = share(`grants of kazoo's lock on ${name}`, 120, 1_000);
    await using log = await ContentionLog.start();
    const contention = { path: "/kazoo/count", ...log.files, grants: total / 4 };
    const connect = target.connectString;
    const others = await Promise.all([left.connect({ connect }), right.connect({ connect })]);
    const clients = [mine, theirs, ...others];
    const holder = await mine.lock(contention.path, "holder");
    await holder.acquire();
    const gate = {
      queued: async () => (await holder.contenders()).length - 1,
      open: () => holder.release(),
    };
    await behind(
      gate,
      clients.map((client, at) => client.contend({ ...contention, label: `kazoo-${at}` }, 55_000)),
    );
    const grants = await log.expectOrderly(total);
    const handOvers = grants.filter(({ label }, at) => at > 0 && label !== grants[at - 1]?.label).length;
    expect(handOvers, "they did meet").toBeGreaterThan(total / 10);
    expect(await mine.node("children", contention.path)).toEqual([]);
  });

  it("calls its DataWatch with every state that it comes to see, from before the node to after it", async () => {
    const path = "/kazoo/watched/data";
    const { calls } = await mine.watchData(path);
    await seen(calls, ["absent"]);
    await theirs.node("create", path, "one");
    await seen(calls, ["present", "one", "0"]);
    await theirs.node("set", path, "two");
    await seen(calls, ["present", "two", "1"]);
    await theirs.node("set", path, "three");
    await seen(calls, ["present", "three", "2"]);
    await theirs.node("delete", path);
    await seen(calls, ["absent"]);
    await theirs.node("create", path, "again");
    await seen(calls, ["present", "again", "0"]);
    expect(calls).toHaveLength(6);
  });

  it("calls its ChildrenWatch with every list that it comes to see", async () => {
    const path = "/kazoo/watched/children";
    await theirs.node("create", path);
    const { calls } = await mine.watchChildren(path);
    await seen(calls, []);
    await theirs.node("create", `${path}/b`);
    await seen(calls, ["b"]);
    await theirs.node("create-ephemeral", `${path}/a`);
    await seen(calls, ["a", "b"]);
    await theirs.node("delete", `${path}/b`);
    await seen(calls, ["a"]);
    // A watch of children does not report a change of data.
    await theirs.node("set", `${path}/a`, "x");
    await theirs.node("delete", `${path}/a`);
    await seen(calls, []);
    expect(calls).toHaveLength(5);
  });

  it("gives the lock of an expired session to the waiter; its owner hears LOST and comes back with a new session", async () => {
    const path = "/kazoo/expired";
    const victim = await right.connect({ connect: target.connectString });
    const held = await (await victim.lock(path, "victim")).acquire();
    const watched = await victim.watchData("/kazoo/outlives");
    const waiter = await mine.lock(path, "waiter");
    const queued = waiter.acquire();
    await expect.poll(() => waiter.contenders()).toEqual(["victim", "waiter"]);
    const session = await victim.session();
    await target.expire(session);
    expect((await queued)?.czxid).toBeGreaterThan(held?.czxid ?? 0n);
    await expect
      .poll(() => victim.states, { timeout: 20_000 })
      .toEqual(["CONNECTED", "SUSPENDED", "LOST", "CONNECTED"]);
    expect((await victim.session()).id).not.toBe(session.id);
    expect(await waiter.contenders()).toEqual(["waiter"]);
    await waiter.release();

    // Its watches continue on the new session.
    await mine.node("create", "/kazoo/outlives", "the session");
    await seen(watched.calls, ["present", "the session", "0"]);
  });
});

/** Waits until the values of the last call are these. */
async function seen(calls: readonly (readonly string[])[], values: readonly string[]): Promise<void> {
  await eventually(() => JSON.stringify(calls.at(-1)) === JSON.stringify(values), {
    what: `a call with ${JSON.stringify(values)}`,
    withinMs: 10_000,
    detail: () => `calls: ${JSON.stringify(calls)}`,
  });
}
