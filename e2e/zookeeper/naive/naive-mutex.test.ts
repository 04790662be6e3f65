import { LayoutConflictError, type LockHandle } from "@holdfast/core";
import { eventually, startZooKeeperProxy, type ZooKeeperProxy } from "@holdfast/test-servers";
import { CreateFlags, openAcl } from "@holdfast/zk-protocol";
import type { ZooKeeperLocks } from "@holdfast/zk-recipes";
import type { ZooKeeperSession } from "@holdfast/zk-recipes/internal";
import { afterEach, beforeEach, expect, it } from "vitest";
import { connected, operatorSession } from "../../support/providers.js";
import { onServers } from "../semaphore/servers.js";

const withinMs = 15_000;
let paths = 0;

onServers((title, server) => {
  let proxy: ZooKeeperProxy;
  let locks: ZooKeeperLocks;
  let operator: ZooKeeperSession;
  let path: string;

  beforeEach(async () => {
    proxy = await startZooKeeperProxy({ target: server.connectString });
    locks = await connected(proxy.connectString, { sessionTimeoutMs: 8_000 });
    operator = await operatorSession(server.connectString);
    path = `/naive/n${paths++}`;
  });
  afterEach(async () => {
    await locks.close();
    await proxy.close();
  });

  const ownerOf = async (): Promise<bigint | null> => {
    try {
      return (await operator.request("exists", { path, watch: false })).stat.ephemeralOwner;
    } catch (error) {
      if ((error as { codeName?: string }).codeName === "NoNode") return null;
      throw error;
    }
  };

  it("is one ephemeral node, the lock's own path, whose czxid is the token", async () => {
    const handle = await locks.naiveMutex(path).acquire();
    const { stat } = await operator.request("exists", { path, watch: false });
    expect(stat.czxid).toBe(handle.token);
    expect(stat.ephemeralOwner).not.toBe(0n);
    await handle.release();
    expect(await ownerOf()).toBeNull();
  });

  it("lets one in at a time, of many who come by chance", async () => {
    const clients = await Promise.all(Array.from({ length: 4 }, () => connected(server.connectString)));
    let inside = 0;
    let most = 0;
    const tokens: bigint[] = [];
    await Promise.all(
      Array.from({ length: 12 }, async (_, i) => {
        const mutex = (clients[i % clients.length] as ZooKeeperLocks).naiveMutex(path);
        for (let round = 0; round < 4; round++) {
          await mutex.withLock({ waitMs: 30_000 }, async (handle) => {
            inside += 1;
            most = Math.max(most, inside);
            tokens.push(handle.token as bigint);
            await new Promise(setImmediate);
            handle.assertHeld();
            inside -= 1;
          });
        }
      }),
    );
    expect({ most, inside, rounds: tokens.length }).toEqual({ most: 1, inside: 0, rounds: 48 });
    expect([...tokens].sort((a, b) => (a < b ? -1 : 1))).toEqual(tokens);
  });

  it("wakes every waiter at each release: the herd that mutex() does not have", async () => {
    const waiters = 20;
    const cost = async (
      take: () => Promise<LockHandle>,
      queue: () => Promise<number>,
      settled: () => boolean,
    ) => {
      const first = await take();
      const grants = Array.from({ length: waiters }, take);
      const ends = Promise.allSettled(grants);
      await eventually(async () => (await queue()) === waiters, { withinMs, what: "all to wait" });
      proxy.reset();
      await first.release();
      await Promise.race(grants);
      await eventually(settled, { withinMs, what: "the losers to wait again" });
      const { requests, events } = proxy.counts();
      return { requests, events, ends };
    };
    // Each waiter has its own session, as in a fleet: the server sends an event only once to each session.
    const fleet = await Promise.all(
      Array.from({ length: waiters + 1 }, () => connected(proxy.connectString)),
    );
    let next = 0;
    const watches = () => proxy.trace.filter(({ kind, op }) => kind === "reply" && op === "exists").length;
    const herd = await cost(
      () => (fleet[next++] as ZooKeeperLocks).naiveMutex(path).acquire(),
      async () => watches(),
      () => watches() === waiters - 1,
    );
    await Promise.all(fleet.map((each) => each.close()));
    await herd.ends;

    const polite = await Promise.all(
      Array.from({ length: waiters + 1 }, () => connected(proxy.connectString)),
    );
    next = 0;
    const queue = `${path}-queue`;
    const orderly = await cost(
      () => (polite[next++] as ZooKeeperLocks).mutex(queue).acquire(),
      async () => (await locks.mutex(queue).inspect()).pendingTotal ?? 0,
      () => true,
    );
    await Promise.all(polite.map((each) => each.close()));
    await orderly.ends;
    console.log(
      `${title}: a release with ${waiters} waiters: naive ${herd.events} events, ${herd.requests} requests; mutex ${orderly.events} events, ${orderly.requests} requests`,
    );
    expect(herd.events).toBeGreaterThanOrEqual(waiters);
    expect(herd.requests).toBeGreaterThanOrEqual(2 * waiters - 1);
    // Events for the old holder, for the next holder and for the waiter behind it, however many wait.
    expect(orderly.events).toBeLessThanOrEqual(3);
  });

  it.each(["create2", "delete"] as const)("a lost answer to the %s changes nothing", async (op) => {
    await (await locks.naiveMutex(path).acquire()).release();
    const lost = proxy.faults.on({ op, path }, { do: "close", when: "applied" });
    const handle = await locks.naiveMutex(path).acquire({ waitMs: withinMs });
    const released = handle.release();
    await lost.reached();
    expect(await released).toBe("released");
    expect(await ownerOf()).toBeNull();
    const other = await connected(server.connectString);
    expect(await other.naiveMutex(path).tryAcquire()).not.toBeNull();
  });

  it("a release whose answer was lost leaves the next holder alone", async () => {
    const other = await connected(server.connectString);
    const handle = await locks.naiveMutex(path).acquire();
    const lost = proxy.faults.on({ op: "delete", path }, { do: "close", when: "applied" });
    const refused = proxy.faults.refuseConnections();
    const released = handle.release();
    await lost.reached();
    const next = await other.naiveMutex(path).acquire({ waitMs: withinMs });
    refused.release();
    await released;
    await next.confirm();
    expect(next.state).toBe("held");
  });

  it("is lost when its node is deleted, and its release leaves alone what came after", async () => {
    const other = await connected(server.connectString);
    const handle = await locks.naiveMutex(path).acquire();
    const lost = new Promise((resolve) => handle.lost.addEventListener("abort", resolve, { once: true }));
    await operator.request("delete", { path, version: -1 });
    await lost;
    const next = await other.naiveMutex(path).acquire({ waitMs: withinMs });
    expect(await handle.release()).not.toBe("released");
    await next.confirm();
  });

  it("is free again when the session of its holder ends", async () => {
    const holder = await connected(server.connectString);
    await holder.naiveMutex(path).acquire();
    const waiting = locks.naiveMutex(path).acquire({ waitMs: withinMs });
    await eventually(() => (proxy.counts().byOp.exists ?? 0) > 0, { withinMs, what: "the watch" });
    await holder.close();
    await (await waiting).release();
  });

  it("a waiter that gives up leaves nothing, and one that may not wait gets null", async () => {
    const holder = await connected(server.connectString);
    const held = await holder.naiveMutex(path).acquire();
    expect(await locks.naiveMutex(path).tryAcquire()).toBeNull();
    const controller = new AbortController();
    const waiting = locks.naiveMutex(path).acquire({ signal: controller.signal });
    const refused = expect(waiting).rejects.toThrow("enough");
    controller.abort(new Error("enough"));
    await refused;
    await held.release();
    // The node of the waiter that gave up is cleaned up after the call.
    await expect.poll(ownerOf).toBeNull();
  });

  it("on a persistent node is a layout conflict", async () => {
    await locks.naiveMutex(path).withLock(() => {});
    await operator.request("create2", {
      path,
      data: null,
      acl: openAcl,
      flags: CreateFlags.persistent,
    });
    await expect(locks.naiveMutex(path).acquire()).rejects.toThrow(LayoutConflictError);
  });
});
