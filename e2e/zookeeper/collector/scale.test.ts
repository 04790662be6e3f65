import { randomInt } from "node:crypto";
import { zookeeperCollector } from "@holdfast/collectors/zookeeper";
import { eventually, startZooKeeper, type ZooKeeperNode } from "@holdfast/test-servers";
import { CreateFlags, openAcl } from "@holdfast/zk-protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { liveHeapBytes } from "../../support/memory.js";
import { operatorSession } from "../../support/providers.js";
import { share } from "../../support/share.js";
import { makeLocks, protectedName } from "./nodes.js";

let server: ZooKeeperNode;

beforeAll(async () => {
  server = await startZooKeeper({ heapMb: 1_024 });
});
afterAll(() => server.stop());

describe("a collector and many locks on a real server", () => {
  it("reads them all at once, none of their nodes, and finds no difference later, with 32 clients at work", async () => {
    const seed = Number(process.env.HOLDFAST_SEED ?? randomInt(2 ** 31));
    console.log(`HOLDFAST_SEED=${seed}`);
    const count = share("locks that a collector reads", 10_000, 100_000);
    const churnMs = share("ms of churn below a collector", 2_000, 30_000);
    const maker = await operatorSession(server.connectString);
    await maker.request("create", {
      path: "/locks",
      data: null,
      acl: openAcl,
      flags: CreateFlags.persistent,
    });
    await makeLocks(maker, "/locks", count);

    const heapBefore = liveHeapBytes();
    const startedMs = performance.now();
    const collector = zookeeperCollector({
      connect: server.connectString,
      roots: ["/locks"],
      adminPort: false,
      maxNodes: 300_000,
    });
    try {
      const stall = watchStalls();
      await eventually(() => collector.sources()[0]?.state === "ok", {
        withinMs: 30_000,
        everyMs: 5,
        what: "all locks read",
      });
      const syncMs = performance.now() - startedMs;
      expect(collector.size).toBe(count);
      const longestMs = stall();
      const heap = (liveHeapBytes() - heapBefore) / 2 ** 20;
      console.log(
        `${count} locks read in ${syncMs.toFixed(0)} ms, longest stall ${longestMs.toFixed(0)} ms, ${heap.toFixed(1)} MB, rss ${(process.memoryUsage().rss / 2 ** 20).toFixed(0)} MB`,
      );
      expect(syncMs).toBeLessThan(5_000);
      expect(collector.nodesRead).toBe(0);

      const rowsMs = performance.now();
      let held = 0;
      for (const row of collector.locks()) if (row.state === "held") held += 1;
      expect(held).toBe(count);
      console.log(
        `rows of all in ${(performance.now() - rowsMs).toFixed(0)} ms, ${((liveHeapBytes() - heapBefore) / 2 ** 20).toFixed(1)} MB with them`,
      );

      const pairs = await churn("/locks", seed, count, churnMs);
      await eventually(() => collector.size === count, { withinMs: 5_000, what: "the churn over" });
      const compareMs = performance.now();
      expect(await collector.compareNow()).toBe(0);
      console.log(`${pairs} pairs of churn; compared in ${(performance.now() - compareMs).toFixed(0)} ms`);
      expect(pairs).toBeGreaterThan(churnMs / 10);
    } finally {
      await collector.close();
    }
  });

  it("finds no difference while 32 clients go on", async () => {
    const seed = Number(process.env.HOLDFAST_SEED ?? randomInt(2 ** 31));
    console.log(`HOLDFAST_SEED=${seed}`);
    const maker = await operatorSession(server.connectString);
    await maker.request("create", {
      path: "/churn",
      data: null,
      acl: openAcl,
      flags: CreateFlags.persistent,
    });
    await makeLocks(maker, "/churn", 500, 0);
    const passes = share("comparisons under churn", 8, 200);
    const collector = zookeeperCollector({
      connect: server.connectString,
      roots: ["/churn"],
      adminPort: false,
      maxNodes: 300_000,
    });
    let going = true;
    const churning = churn("/churn", seed, 500, () => going);
    try {
      await eventually(() => collector.sources()[0]?.state === "ok", {
        withinMs: 30_000,
        what: "all locks read",
      });
      for (let pass = 0; pass < passes; pass++) expect(await collector.compareNow()).toBe(0);
      expect(collector.drift).toBe(0);
    } finally {
      going = false;
      await churning;
      await collector.close();
    }
  });
});

/** 32 clients make and delete queue nodes in locks that the seed chooses. Returns the number of pairs of create and delete. */
async function churn(
  root: string,
  seed: number,
  locks: number,
  until: number | (() => boolean),
): Promise<number> {
  const endMs = performance.now() + (typeof until === "number" ? until : Number.POSITIVE_INFINITY);
  const going = (): boolean => (typeof until === "number" ? performance.now() < endMs : until());
  const sessions = await Promise.all(Array.from({ length: 32 }, () => operatorSession(server.connectString)));
  let pairs = 0;
  const clients = sessions.map(async (session, client) => {
    let state = (seed + client * 7_919) >>> 0;
    const next = (below: number): number => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return state % below;
    };
    while (going()) {
      const lock = `${root}/order-${String(next(locks)).padStart(7, "0")}`;
      const { path } = await session.request("create", {
        path: `${lock}/${protectedName(client)}`,
        data: null,
        acl: openAcl,
        flags: CreateFlags.ephemeralSequential,
      });
      await session.request("delete", { path, version: -1 });
      pairs += 1;
    }
  });
  await Promise.all(clients);
  await Promise.all(sessions.map((session) => session.close()));
  return pairs;
}

/** Returns a function that stops the watch and returns the longest time in ms for which the event loop ran no timer. */
function watchStalls(): () => number {
  let last = performance.now();
  let longest = 0;
  const timer = setInterval(() => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
  }, 5);
  return () => {
    clearInterval(timer);
    return longest;
  };
}
