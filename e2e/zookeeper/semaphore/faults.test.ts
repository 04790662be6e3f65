import type { PermitHandle, Semaphore } from "@holdfast/core";
import {
  eventually,
  expireSession,
  type FaultHit,
  startZooKeeperProxy,
  type ZooKeeperProxy,
} from "@holdfast/test-servers";
import type { ZooKeeperLocks } from "@holdfast/zk-recipes";
import type { ZooKeeperSession } from "@holdfast/zk-recipes/internal";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { connected, operatorSession } from "../../support/providers.js";
import { onServers } from "./servers.js";

const withinMs = 15_000;
let paths = 0;

onServers((_title, server) => {
  let proxy: ZooKeeperProxy;
  let locks: ZooKeeperLocks;
  let operator: ZooKeeperSession;
  let path: string;

  beforeEach(async () => {
    proxy = await startZooKeeperProxy({ target: server.connectString });
    locks = await connected(proxy.connectString, { sessionTimeoutMs: 8_000 });
    operator = await operatorSession(server.connectString);
    path = `/faults/s${paths++}`;
    await (await locks.semaphore(path, 9).acquire()).release();
    await nothingLeft();
  });
  afterEach(async () => {
    await locks.close();
    await proxy.close();
  });

  const list = async (child: string): Promise<string[]> =>
    (await operator.request("getChildren2", { path: `${path}/${child}`, watch: false })).children;

  async function nothingLeft(): Promise<void> {
    await eventually(async () => (await list("locks")).length + (await list("leases")).length === 0, {
      withinMs,
      what: `nothing under ${path}`,
    });
  }

  /** Expects exactly the nodes of the handle, and an empty queue. */
  async function exactly(handle: PermitHandle): Promise<void> {
    await eventually(async () => (await list("locks")).length === 0, { withinMs, what: "an empty queue" });
    const held = (await list("leases")).map((name) => `${path}/leases/${name}`);
    expect(held.sort()).toEqual([...handle.permitIds].sort());
  }

  describe("a lost answer", () => {
    it.each(["create2", "multi", "delete"] as const)(
      "to the %s of a batch leaves exactly its permits there",
      async (op) => {
        const lost = proxy.faults.on({ op, path: new RegExp(`^${path}/`) }, { do: "close", when: "applied" });
        const batch = await locks.semaphore(path, 4).acquire({ permits: 3, waitMs: withinMs });
        expect(batch.permitIds).toHaveLength(3);
        await lost.reached();
        await exactly(batch);
        // The client may not have noticed the broken connection yet. A confirmation that fails because of it is repeated.
        const confirmed = (): Promise<boolean> =>
          batch.confirm().then(
            () => true,
            () => false,
          );
        await eventually(confirmed, { withinMs, what: "a confirmation" });
        expect(batch.state).toBe("held");
        await batch.release();
        await nothingLeft();
      },
    );

    it.each(["create2", "multi"] as const)(
      "to a %s that was never applied makes its permits once",
      async (op) => {
        proxy.faults.on({ op, path: new RegExp(`^${path}/`) }, { do: "close", when: "before" });
        await exactly(await locks.semaphore(path, 4).acquire({ permits: 3, waitMs: withinMs }));
      },
    );

    it("to the leases of a request that gives up meanwhile leaves nothing", async () => {
      const controller = new AbortController();
      const lost = proxy.faults.on({ op: "multi" }, { do: "close", when: "applied" });
      const asked = locks.semaphore(path, 4).acquire({ permits: 3, signal: controller.signal });
      const refused = expect(asked).rejects.toThrow("enough");
      await lost.reached();
      controller.abort(new Error("enough"));
      await refused;
      await nothingLeft();
    });

    it("to the leases, of which an operator deletes a part, ends in all permits or none", async () => {
      const cutOff = proxy.faults.on(
        { op: "multi" },
        {
          do: "run",
          at: "applied",
          call: async (_hit: FaultHit) => {
            const [first] = await list("leases");
            await operator.request("delete", { path: `${path}/leases/${first}`, version: -1 });
          },
        },
      );
      const lost = proxy.faults.on({ op: "multi" }, { do: "close", when: "applied" });
      const batch = await locks.semaphore(path, 4).acquire({ permits: 3, waitMs: withinMs });
      expect(cutOff.hits.length + lost.hits.length).toBeGreaterThan(0);
      await batch.confirm();
      await exactly(batch);
    });
  });

  it("a session that ends as its leases are made starts anew with all of them", async () => {
    const ended = proxy.faults.on({ op: "multi" }, { do: "expire", when: "applied" });
    const batch = await locks.semaphore(path, 4).acquire({ permits: 3, waitMs: withinMs });
    await ended.reached();
    await exactly(batch);
  });

  it("a waiter at the head whose session ends stands at the tail of the queue, and gets its turn", async () => {
    const other = await connected(server.connectString);
    const holder = await other.semaphore(path, 2).acquire({ permits: 2 });
    const requeued: string[] = [];
    locks.events.on("requeued", ({ reason }) => requeued.push(reason));
    const waiting = locks.semaphore(path, 2).acquire({ permits: 2, waitMs: withinMs });
    await eventually(async () => (await list("locks")).length === 1, { withinMs, what: "the waiter" });
    const session = proxy.sessions.at(-1);
    if (session === undefined) throw new Error("no session");
    await expireSession({ connectString: server.connectString, ...session });
    await eventually(() => requeued.length > 0, { withinMs, what: "the new place" });
    await holder.release();
    await exactly(await waiting);
    expect(requeued).toEqual(["session-lost"]);
  });

  it("two heads, because an operator has deleted the first one's node, never exceed the limit", async () => {
    const other = await connected(server.connectString);
    const taking = proxy.faults.on({ op: "multi" }, { do: "hold", at: "prep" });
    const first = locks.semaphore(path, 3).acquire({ permits: 2, waitMs: withinMs });
    await taking.reached();
    const [evicted] = await list("locks");
    await operator.request("delete", { path: `${path}/locks/${evicted}`, version: -1 });
    const second = await other.semaphore(path, 3).acquire({ permits: 2, waitMs: withinMs });
    taking.release();
    // The first client finds four leases where three are allowed, and then finds that its place in the queue is gone.
    await expect(first).rejects.toMatchObject({ code: "HF_EVICTED" });
    await second.confirm();
    await exactly(second);
  });

  it("a batch that is too large for one transaction is refused, and leaves nothing", async () => {
    const asked = locks.semaphore(path, 100_000).acquire({ permits: 10_000, waitMs: withinMs });
    await expect(asked).rejects.toMatchObject({ code: "HF_INVALID_ARGUMENT" });
    await expect(asked).rejects.toThrow(
      /permits = 10000 do not fit into one transaction.* ask for \d+ at most/,
    );
    await nothingLeft();
    expect(
      await locks.semaphore(path, 100_000).tryAcquire({ permits: 2_000, waitMs: withinMs }),
    ).not.toBeNull();
  });

  it("a batch loses all its permits when an operator deletes one", async () => {
    const batch = await locks.semaphore(path, 3).acquire({ permits: 3 });
    const lost = new Promise((resolve) => batch.lost.addEventListener("abort", resolve, { once: true }));
    await operator.request("delete", { path: batch.permitIds[1] as string, version: -1 });
    await lost;
    expect(batch.state).toBe("lost");
    await nothingLeft();
  });

  it("a client that was cut off for a moment holds its permits still", async () => {
    const semaphore: Semaphore = locks.semaphore(path, 2);
    const batch = await semaphore.acquire({ permits: 2 });
    await proxy.setMode("reset");
    await eventually(() => batch.state === "uncertain", { withinMs, what: "doubt" });
    await proxy.setMode("ok");
    await eventually(() => batch.state === "held", { withinMs, what: "certainty" });
    expect(await semaphore.tryAcquire()).toBeNull();
    await exactly(batch);
  });
});
