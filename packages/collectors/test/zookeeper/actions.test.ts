import { randomUUID } from "node:crypto";
import { EvictedError, type LockProvider } from "@holdfast/core";
import { type EmbeddedZooKeeper, eventually, startEmbeddedZooKeeper } from "@holdfast/test-servers";
import { CreateFlags } from "@holdfast/zk-protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ActionOffer, ActionRequest, ObservedLockDetail } from "../../src/index.js";
import { ours, Watched } from "./support.js";

let server: EmbeddedZooKeeper;
let locks: LockProvider;
let watched: Watched;

beforeAll(async () => {
  server = await startEmbeddedZooKeeper();
  locks = await ours(server.connectString, true);
  watched = await Watched.start({ connect: server.connectString, roots: ["/locks"] });
});
afterAll(async () => {
  await watched[Symbol.asyncDispose]();
  await locks.close();
  await server.stop();
});

async function request(
  key: string,
  action: ActionRequest["action"],
  more: Partial<ActionRequest> = {},
): Promise<ActionRequest> {
  const detail = await watched.collector.detail(key, { maxWaiters: 10 });
  return { action, key, entry: null, expectedVersion: detail?.version ?? "none", dryRun: false, ...more };
}

describe("actions of an operator", () => {
  it("force release: the holder of ours hears of it, and the next is granted", async () => {
    const key = "/locks/forced";
    const held = await locks.mutex(key).acquire();
    const next = locks.mutex(key).acquire();
    await watched.row(key, ({ waiterCount }) => waiterCount === 1);
    const dry = await watched.collector.act(await request(key, "force-release", { dryRun: true }));
    expect(dry.outcome).toBe("would-do");
    expect(dry.effects.join(" ")).toMatch(/of holdfast, is notified.*is granted/s);
    expect(held.state).toBe("held");

    const lost = new Promise((resolve) => held.lost.addEventListener("abort", resolve));
    const done = await watched.collector.act(await request(key, "force-release"));
    expect(done.outcome).toBe("done");
    expect(done.before?.holders[0]?.identity?.pid).toBe(process.pid);
    await lost;
    const second = await next;
    expect(second.token).toBeGreaterThan(held.token ?? 0n);
    await second.release();
  });

  it("force release: frees a lock under more holders than are shown", async () => {
    const key = "/locks/shared";
    const readers = 101;
    server.operator.create(key);
    for (let at = 0; at < readers; at++)
      server.operator.create(`${key}/_c_${randomUUID()}-__READ__`, {
        flags: CreateFlags.persistentSequential,
      });
    await watched.row(key, ({ holderCount }) => holderCount === readers);
    const done = await watched.collector.act(await request(key, "force-release", { unknownLibrary: true }));
    expect(done).toMatchObject({ outcome: "done" });
    expect(new Set(done.endedHolds).size).toBe(readers);
    expect(server.operator.getChildren(key)).toEqual([]);
  });

  it("force release: is a conflict, and does nothing, when the holder has changed since it was decided", async () => {
    const key = "/locks/handed";
    const first = await locks.mutex(key).acquire();
    const next = locks.mutex(key).acquire();
    const decided = await request(key, "force-release");
    await first.release();
    const second = await next;
    const result = await watched.collector.act(decided);
    expect(result.outcome).toBe("conflict");
    expect(result.before?.token).toBe(`0x${second.token?.toString(16)}`);
    expect(server.nodes(key)).toHaveLength(2);
    expect(second.lost.aborted).toBe(false);
    await second.release();
  });

  it("force release: is a conflict when the node is touched between the comparison and the act", async () => {
    const key = "/locks/touched";
    await using held = await locks.mutex(key).acquire();
    const decided = await request(key, "force-release");
    const child = server.nodes(key)[1]?.path ?? "";
    server.faults.on(
      { op: "multi", path: child },
      { do: "run", call: () => void server.operator.setData(child, Buffer.from("other")) },
    );
    const result = await watched.collector.act(decided);
    expect(result.outcome).toBe("conflict");
    expect(server.nodes(child)).toHaveLength(1);
    expect(held.lost.aborted).toBe(false);
  });

  it("force release: is denied, and known not to be done, where the right to delete is missing", async () => {
    const key = "/locks/undeletable";
    const allButDelete = [{ perms: 31 & ~8, scheme: "world", id: "anyone" }];
    server.operator.create(key, { acl: allButDelete });
    server.operator.create(`${key}/_c_${randomUUID()}-lock-`, { flags: CreateFlags.persistentSequential });
    await watched.row(key, ({ state }) => state === "held");
    const answer = await watched.collector.act(await request(key, "force-release"));
    expect(answer.outcome).toBe("denied");
    expect(answer.effects.join(" ")).toMatch(/nothing was done: .*NoAuth/);
    expect((await watched.collector.detail(key, { maxWaiters: 1 }))?.holderCount).toBe(1);
  });

  it("evict: a waiter of ours gives up with EvictedError; one that has become the holder is left alone", async () => {
    const key = "/locks/evicted";
    const held = await locks.mutex(key).acquire();
    const waiting = locks
      .mutex(key)
      .acquire()
      .catch((error: unknown) => error);
    await watched.row(key, ({ waiterCount }) => waiterCount === 1);
    const entry = (await watched.collector.detail(key, { maxWaiters: 1 }))?.waiters[0]?.entry ?? "";
    const result = await watched.collector.act(await request(key, "evict-waiter", { entry }));
    expect(result.outcome).toBe("done");
    expect(await waiting).toBeInstanceOf(EvictedError);

    const next = locks.mutex(key).acquire();
    await watched.row(key, ({ waiterCount }) => waiterCount === 1);
    const later = (await watched.collector.detail(key, { maxWaiters: 1 }))?.waiters[0]?.entry ?? "";
    await held.release();
    const second = await next;
    const late = await watched.collector.act(await request(key, "evict-waiter", { entry: later }));
    expect(late.outcome).toBe("conflict");
    expect(second.lost.aborted).toBe(false);
    await second.release();
  });

  it("evict: is a conflict when the waiter is granted between the comparison and the act", async () => {
    const key = "/locks/granted-meanwhile";
    const held = await locks.mutex(key).acquire();
    const waiting = locks.mutex(key).acquire();
    await watched.row(key, ({ waiterCount }) => waiterCount === 1);
    const entry = (await watched.collector.detail(key, { maxWaiters: 1 }))?.waiters[0]?.entry ?? "";
    const decided = await request(key, "evict-waiter", { entry });
    server.faults.on(
      { op: "multi", path: `${key}/${entry}` },
      { do: "run", call: async () => void (await held.release()) },
    );
    expect((await watched.collector.act(decided)).outcome).toBe("conflict");
    const second = await waiting;
    expect(second.lost.aborted).toBe(false);
    await second.release();
  });

  it("evict: is a conflict when the lock has changed hands since, though the waiter waits as before", async () => {
    const key = "/locks/waits-on";
    const [first, second, third] = [1, 2, 3].map(() => locks.mutex(key).acquire());
    const held = await first;
    await watched.row(key, ({ waiterCount }) => waiterCount === 2);
    const entry = (await watched.collector.detail(key, { maxWaiters: 2 }))?.waiters[1]?.entry ?? "";
    const decided = await request(key, "evict-waiter", { entry });
    await held?.release();
    const next = await second;
    for (const dryRun of [true, false])
      expect((await watched.collector.act({ ...decided, dryRun })).outcome).toBe("conflict");
    expect((await watched.collector.detail(key, { maxWaiters: 2 }))?.waiters[0]?.entry).toBe(entry);
    await next?.release();
    await (await third)?.release();
  });

  it("force release and request revoke: are conflicts for a holder who holds as before, when another has come beside it", async () => {
    const key = "/locks/beside";
    const held = await locks.semaphore(key, 3).acquire({ revocable: true });
    const row = await watched.row(key, ({ holderCount }) => holderCount === 1);
    const entry = row.holders[0]?.entry ?? "";
    const decided = await request(key, "force-release", { entry });
    const beside = await locks.semaphore(key, 3).acquire();
    for (const action of ["force-release", "request-revoke"] as const)
      expect((await watched.collector.act({ ...decided, action })).outcome).toBe("conflict");
    expect([held.lost.aborted, held.revokeRequested.aborted]).toEqual([false, false]);
    const anew = await request(key, "force-release", { entry });
    expect((await watched.collector.act({ ...anew, dryRun: true })).outcome).toBe("would-do");
    await beside.release();
    await held.release();
  });

  it("force release: is a conflict for a holder that has the name of the one who was seen, and is another", async () => {
    const key = "/locks/again";
    const make = (): void => {
      server.operator.create(key);
      server.operator.create(`${key}/lock-`, { flags: CreateFlags.persistentSequential });
    };
    make();
    const entry = server.nodes(key)[1]?.path.split("/").at(-1) ?? "";
    await watched.row(key, ({ holderCount }) => holderCount === 1);
    const decided = await request(key, "force-release", { entry });
    server.operator.delete(`${key}/${entry}`);
    server.operator.delete(key);
    make();
    expect(server.nodes(key)[1]?.path).toBe(`${key}/${entry}`);
    expect((await watched.collector.act(decided)).outcome).toBe("conflict");
    expect(server.nodes(key)).toHaveLength(2);
  });

  it("request revoke: a revocable holder hears it; kazoo's is not asked, as it would not hear", async () => {
    const key = "/locks/asked";
    const held = await locks.mutex(key).acquire({ revocable: true });
    const heard = new Promise((resolve) => held.revokeRequested.addEventListener("abort", resolve));
    const result = await watched.collector.act(await request(key, "request-revoke"));
    expect(result.outcome).toBe("done");
    await heard;
    await held.release();

    server.operator.create("/locks/snake");
    const name = "/locks/snake/0123456789abcdef0123456789abcdef__lock__";
    server.operator.create(name, { flags: CreateFlags.persistentSequential });
    const refused = await watched.collector.act(await request("/locks/snake", "request-revoke"));
    expect(refused.outcome).toBe("unsupported");
  });

  it("clean orphan: deletes an empty parent, and none that has been used since", async () => {
    const key = "/locks/orphan";
    server.operator.create(key);
    server.operator.create(`${key}/x`);
    server.operator.delete(`${key}/x`);
    const decided = await request(key, "clean-orphan");
    server.operator.create(`${key}/y`);
    server.operator.delete(`${key}/y`);
    expect((await watched.collector.act(decided)).outcome).toBe("conflict");
    expect(server.nodes(key)).toHaveLength(1);
    const unconfirmed = await watched.collector.act(await request(key, "clean-orphan"));
    expect(unconfirmed.outcome).toBe("denied");
    const confirmed = await request(key, "clean-orphan", { unknownLibrary: true });
    expect((await watched.collector.act(confirmed)).outcome).toBe("done");
    expect(server.nodes(key)).toHaveLength(0);
    await watched.gone(key);
    expect((await watched.collector.act(decided)).outcome).toBe("nothing-there");
  });

  it("clean orphan: leaves a lock in use alone, and one that never was", async () => {
    await using _ = await locks.mutex("/locks/used").acquire();
    expect((await watched.collector.act(await request("/locks/used", "clean-orphan"))).outcome).toBe(
      "conflict",
    );
    server.operator.create("/locks/never");
    const asSeen = await request("/locks/never", "clean-orphan", { expectedVersion: "idle:0" });
    expect((await watched.collector.act(asSeen)).outcome).toBe("nothing-there");
    expect(server.nodes("/locks/never")).toHaveLength(1);
  });

  it("clean orphan: leaves an empty node with data of its own alone, which is no lock", async () => {
    server.operator.create("/locks/config", { data: Buffer.from("settings") });
    server.operator.create("/locks/config/x");
    server.operator.delete("/locks/config/x");
    const asSeen = await request("/locks/config", "clean-orphan", {
      expectedVersion: "idle:2",
      unknownLibrary: true,
    });
    expect((await watched.collector.act(asSeen)).outcome).toBe("nothing-there");
    expect(server.nodes("/locks/config")).toHaveLength(1);
  });

  /** A lock with one holder and 60 waiters, and the actions that its page offers. */
  async function crowded(key: string): Promise<{ seen: ObservedLockDetail; offers: ActionOffer[] }> {
    server.operator.create(key);
    for (let at = 0; at <= 60; at++)
      server.operator.create(`${key}/_c_${randomUUID()}-lock-`, { flags: CreateFlags.persistentSequential });
    await watched.row(key, ({ waiterCount }) => waiterCount === 60);
    const seen = await watched.collector.detail(key, { maxWaiters: 200 });
    if (seen === null) throw new Error(`nothing is at ${key}`);
    const holder = seen.holders[0]?.entry ?? "";
    return {
      seen,
      offers: [
        { action: "request-revoke", entry: holder },
        ...seen.waiters.slice(0, 5).map(({ entry }) => ({ action: "evict-waiter" as const, entry })),
        { action: "force-release", entry: holder },
      ],
    };
  }

  /** Counts the requests that name the lock or a node below it. */
  function readsOf(key: string, op: "getData" | "getChildren2"): { count: number } {
    const reads = { count: 0 };
    const call = (): void => {
      reads.count += 1;
    };
    server.faults.on(
      { op, path: new RegExp(`^${key}`), times: Number.POSITIVE_INFINITY },
      { do: "run", call },
    );
    return reads;
  }

  it("acts on one lock are tried out by one reading of those who are concerned, however long the queue is", async () => {
    const { seen, offers } = await crowded("/locks/long-queue");
    const nodes = readsOf(seen.key, "getData");
    const lists = readsOf(seen.key, "getChildren2");
    const trials = await watched.collector.tryOut(seen, offers);
    expect(trials.map(({ outcome }) => outcome)).toEqual(offers.map(() => "would-do"));
    expect(trials[6]?.effects.join(" ")).toMatch(/is NOT notified.*is granted the lock within moments/s);
    expect([lists.count, nodes.count]).toEqual([1, 6]);
    expect(server.nodes(seen.key)).toHaveLength(62);
  });

  it("acts that are tried out say of a lock that has changed since it was seen that it has, and of one that is gone that nothing is there", async () => {
    const { seen, offers } = await crowded("/locks/moved-on");
    server.operator.delete(`${seen.key}/${seen.holders[0]?.entry}`);
    const changed = await watched.collector.tryOut(seen, offers);
    expect(new Set(changed.map(({ outcome }) => outcome))).toEqual(new Set(["conflict"]));
    const gone = await watched.collector.tryOut({ ...seen, key: "/locks/never-there" }, offers);
    expect(new Set(gone.map(({ outcome }) => outcome))).toEqual(new Set(["nothing-there"]));
    const outside = await watched.collector.tryOut({ ...seen, key: "/other" }, offers);
    expect(new Set(outside.map(({ outcome }) => outcome))).toEqual(new Set(["denied"]));
  });

  it("acts that are tried out read no further once the caller has given them up", async () => {
    const { seen, offers } = await crowded("/locks/given-up");
    const nodes = readsOf(seen.key, "getData");
    const list = server.faults.on({ op: "getChildren2", path: seen.key }, { do: "hold" });
    const left = new AbortController();
    const trials = watched.collector.tryOut(seen, offers, left.signal);
    await list.reached();
    left.abort();
    list.release();
    await expect(trials).rejects.toMatchObject({ name: "AbortError" });
    expect(nodes.count).toBe(0);
  });

  it("refuses what was decided on a name that may come again", async () => {
    server.operator.create("/locks/bare");
    server.operator.create("/locks/bare/lock-", { flags: CreateFlags.persistentSequential });
    const row = await watched.row("/locks/bare", ({ state }) => state === "held");
    expect(row.version).toContain("?");
    const asSeen = await request("/locks/bare", "force-release", { expectedVersion: row.version });
    const refused = await watched.collector.act(asSeen);
    expect(refused.outcome).toBe("conflict");
    expect(refused.effects).toEqual([expect.stringMatching(/look again/)]);
    const confirmed = await request("/locks/bare", "force-release", { unknownLibrary: true });
    expect((await watched.collector.act(confirmed)).outcome).toBe("done");
    await eventually(() => server.nodes("/locks/bare").length === 1, {
      withinMs: 10_000,
      what: "it deleted",
    });
  });
});
