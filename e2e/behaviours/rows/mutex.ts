import { once } from "node:events";
import { eventually } from "@holdfast/test-servers";
import { baseName, CreateFlags } from "@holdfast/zk-protocol";
import { describe, expect, it } from "vitest";
import { everyLock } from "../lock-recipes.js";
import { childCount, levelsOf, type Site } from "../site.js";

const queueNode = /^_c_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-lock-$/;
const reads: ReadonlySet<string> = new Set([
  "connect",
  "ping",
  "sync",
  "exists",
  "getData",
  "getChildren",
  "getChildren2",
  "setWatches",
  "setWatches2",
  "checkWatches",
  "removeWatches",
]);

/** The locks for behaviours that concern only the queue of the plain recipe. */
const mutexes = everyLock.filter(({ title }) => title === "mutex" || title === "reentrantMutex");

export function mutexRows(site: Site): void {
  it("10: writes its own ephemeral sequential nodes and the containers above them, and deletes nothing else", async () => {
    const [one, other] = [await site.client(), await site.client()];
    const operator = await site.operator();
    const path = site.path();
    const mutex = one.locks.mutex(path);
    // All ways through the queue: a free lock, a refused try, a wait that times out, a wait that is granted.
    const first = await mutex.acquire();
    expect(await other.locks.mutex(path).tryAcquire()).toBeNull();
    await expect(other.locks.mutex(path).acquire({ waitMs: 500 })).rejects.toThrow();
    await childCount(operator, path, 1);
    const waiting = other.locks.mutex(path).acquire({ waitMs: 10_000 });
    const nodes = await childCount(operator, path, 2);
    for (const name of nodes) {
      const { stat } = await operator.read(`${path}/${name}`);
      expect([one.session.sessionId, other.session.sessionId]).toContain(stat.ephemeralOwner);
      expect(name).toMatch(/\d{10}$/);
    }
    await first.release();
    await (await waiting).release();

    const trace = [...one.link.trace, ...other.link.trace];
    const created = new Set(trace.flatMap(({ created }) => (created === undefined ? [] : [created])));
    const writes = trace.filter(({ kind, op }) => kind === "request" && !reads.has(op));
    expect(writes.length).toBeGreaterThan(6);
    for (const { op, path: of = "" } of writes) {
      if (op === "createContainer") expect(levelsOf(path)).toContain(of);
      else if (op === "create2") expect(baseName(of)).toMatch(queueNode);
      else {
        expect(op).toBe("delete");
        expect(created).toContain(of);
      }
    }
  });

  describe.each(mutexes)("$title", (recipe) => {
    it("11: its holder hears that a waiter wants it, and the waiter gets it", async () => {
      const [holder, second] = [await site.client(), await site.client()];
      const operator = await site.operator();
      const path = site.path();
      const lock = recipe.open(second.locks, path);
      expect(await lock.requestRevoke()).toBe(false);
      const held = await recipe.open(holder.locks, path).acquire({ revocable: true });
      const waiting = lock.acquire({ waitMs: 10_000 });
      await childCount(operator, path, 2);
      expect(held.revokeRequested.aborted).toBe(false);
      expect(await lock.requestRevoke()).toBe(true);
      if (!held.revokeRequested.aborted) {
        await once(held.revokeRequested, "abort", { signal: AbortSignal.timeout(5_000) });
      }
      // The request only asks: the holder still holds.
      held.assertHeld();
      expect(await held.release()).toBe("released");
      const next = await waiting;
      expect(next.token).toBeGreaterThan(held.token as bigint);
      expect(await next.release()).toBe("released");
    });
  });

  // Users of Curator may let a driver of their own make the queue nodes. Our queue nodes are always ephemeral.
  it("12: waits behind a persistent queue node beyond the end of its session, until that node is deleted", async () => {
    const [maker, waiter] = [await site.client(), await site.client()];
    const operator = await site.operator();
    const path = await site.madePath(operator);
    const persistent = await operator.create(`${path}/_c_7d3c8f9e-1b2a-4c5d-8e6f-0a1b2c3d4e5f-lock-`, {
      flags: CreateFlags.persistentSequential,
      data: "10.0.0.7",
    });
    let granted = false;
    const waiting = waiter.locks
      .mutex(path)
      .acquire({ waitMs: 20_000 })
      .then((handle) => {
        granted = true;
        return handle;
      });
    await childCount(operator, path, 2);
    await operator.session.close();
    const second = await site.operator();
    // A client that asks now also finds the node. Its answer comes after the end of the session that made the node.
    expect(await maker.locks.mutex(path).tryAcquire()).toBeNull();
    await waiter.locks.mutex(path).inspect();
    expect(granted).toBe(false);
    await second.delete(persistent);
    const handle = await waiting;
    handle.assertHeld();
    expect(await handle.release()).toBe("released");
    expect(await second.children(path)).toEqual([]);
  });

  // 13 and 14 are in `multi-lock.ts`.

  it("15: is not left standing in a queue whose listing says that there is none", async () => {
    const client = await site.client();
    const operator = await site.operator();
    const path = await site.madePath(operator);
    client.link.reset();
    const fault = client.link.faults.on(
      { op: "getChildren2", path, times: Number.POSITIVE_INFINITY },
      { do: "answer", err: "NoNode" },
    );
    await expect(client.locks.mutex(path).acquire({ waitMs: 10_000 })).rejects.toMatchObject({
      code: "HF_EVICTED",
      lockName: path,
    });
    expect(fault.hits.length).toBeGreaterThan(0);
    expect(await operator.children(path)).toEqual([]);
    const { create2: made, delete: deleted } = client.link.counts().byOp;
    expect({ made, deleted }).toEqual({ made: 1, deleted: 1 });
    fault.release();
    const handle = await client.locks.mutex(path).acquire();
    expect(await handle.release()).toBe("released");
  });

  it("16: rejects with the first error when the clean-up behind it fails too", async () => {
    const client = await site.client();
    const operator = await site.operator();
    const path = await site.madePath(operator);
    const mutex = client.locks.mutex(path);
    const { faults } = client.link;
    const refuseDelete = () =>
      faults.on({ op: "delete", times: Number.POSITIVE_INFINITY }, { do: "answer", err: "NoAuth" });

    const refused = faults.on({ op: "getChildren2", path }, { do: "answer", err: "NoAuth" });
    let cleanUp = refuseDelete();
    const error = await mutex.acquire({ waitMs: 10_000 }).catch((failure: unknown) => failure);
    expect(error).toMatchObject({ code: "HF_BACKEND", retryable: false });
    expect((error as Error).message).toContain(`listing ${path}`);
    expect(refused.hits).toHaveLength(1);
    await cleanUp.reached();
    expect(await operator.children(path)).toHaveLength(1);
    cleanUp.release();
    await operator.delete(await operator.onlyChild(path));

    // A scope whose body throws rejects with the body's error, although its release is refused.
    cleanUp = refuseDelete();
    const own = new Error("the body's own");
    const reported: unknown[] = [];
    client.locks.events.on("release-failed", ({ reason }) => reported.push(reason));
    await expect(mutex.withLock(() => Promise.reject(own))).rejects.toBe(own);
    await eventually(() => reported.length === 1, { what: "the refused release to be reported" });
    expect(reported).toEqual(["refused"]);
    cleanUp.release();
    await client.locks.close();
    expect(await operator.children(path)).toEqual([]);
  });

  it("17: gives the lock's path and the levels above it the ACL that was asked for them", async () => {
    const user = "alice:secret";
    const { locks } = await site.client({
      auth: [{ scheme: "digest", auth: user }],
      acl: [{ perms: 31, scheme: "auth", id: "" }],
    });
    const [owner, stranger] = [await site.operator(user), await site.operator()];
    const path = site.path();
    await using handle = await locks.mutex(path).acquire();
    handle.assertHeld();
    for (const level of levelsOf(path)) {
      const acl = await owner.acl(level);
      expect(acl, level).toHaveLength(1);
      expect(acl[0], level).toMatch(/^digest:alice:.+:31$/);
    }
    await expect(stranger.children(path)).rejects.toThrow("NoAuth");
    await expect(stranger.create(`${path}/intruder`)).rejects.toThrow("NoAuth");
  });

  it("18: gives a parent another ACL than the node below it, where the option says so", async () => {
    const user = "alice:secret";
    const path = site.path();
    const { locks } = await site.client({
      auth: [{ scheme: "digest", auth: user }],
      acl: (of) =>
        of.startsWith(`${path}/`)
          ? [{ perms: 31, scheme: "auth", id: "" }]
          : [{ perms: 31, scheme: "world", id: "anyone" }],
    });
    const [owner, stranger] = [await site.operator(user), await site.operator()];
    await using handle = await locks.mutex(path).acquire();
    handle.assertHeld();
    const node = await stranger.onlyChild(path);
    expect(await stranger.acl(path)).toEqual(["world:anyone:31"]);
    expect((await owner.acl(node))[0]).toMatch(/^digest:alice:.+:31$/);
    await expect(stranger.read(node)).rejects.toThrow("NoAuth");
  });
}
