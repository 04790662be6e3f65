import {
  eventually,
  startZooKeeper,
  startZooKeeperProxy,
  type ZooKeeperNode,
  type ZooKeeperProxy,
} from "@holdfast/test-servers";
import type { ZooKeeperLocks } from "@holdfast/zk-recipes";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { connected } from "../../support/providers.js";

let server: ZooKeeperNode;
let proxy: ZooKeeperProxy;
let locks: ZooKeeperLocks;
let path: string;
let paths = 0;

beforeAll(async () => {
  server = await startZooKeeper({ maxClientCnxns: 0 });
  proxy = await startZooKeeperProxy({ target: server.connectString });
});
afterAll(async () => {
  await proxy.close();
  await server.stop();
});

describe.each(["latch", "selector"] as const)("leadership in the form of a %s", (layout) => {
  const election = (of = locks) => of.leaderElection(path, { layout });

  beforeEach(async () => {
    locks = await connected(proxy.connectString, { sessionTimeoutMs: 30_000 });
    path = `/budget/e${paths++}`;
    // The parents are there from now on.
    await (await election().campaign()).release();
    proxy.reset();
  });

  it("is had in one round trip and given back in one: Curator's takes three, or two", async () => {
    const term = await election().campaign();
    expect(proxy.counts()).toMatchObject({ requests: 2, flights: 1 });
    proxy.reset();
    await term.release();
    expect(proxy.counts()).toMatchObject({ requests: 1, flights: 1 });
  });

  it("is stood for in two round trips, and comes without a request to the follower that stands second", async () => {
    const leader = await connected(server.connectString);
    const term = await election(leader).campaign();
    const next = election().campaign();
    await eventually(() => proxy.counts().byOp.getData === 2, { what: "both watches" });
    expect(proxy.counts()).toMatchObject({ requests: 4, flights: 2 });
    await proxy.waitFor((entry) => entry.kind === "reply" && entry.op === "getData");
    // Answered behind the watches.
    await election().leader();
    proxy.reset();
    await term.release();
    await next;
    expect(proxy.counts()).toMatchObject({ requests: 0, events: 1 });
  });
});
