import type { LockProvider } from "@holdfast/core";
import { type EmbeddedZooKeeper, startEmbeddedZooKeeper } from "@holdfast/test-servers";
import { zookeeperLocks } from "@holdfast/zk-recipes";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ContentionLog } from "../interop/contention-log.js";
import { behind } from "../interop/gate.js";
import {
  type CuratorClient,
  curatorVersions,
  type JavaPeer,
  startJavaPeer,
} from "../support/curator/java-peer.js";
import { contend } from "../support/process/contend.js";
import { share } from "../support/share.js";
import { embeddedSeed } from "./target.js";

const versions = await curatorVersions();
const waitMs = 30_000;

/** `e2e/interop` tests the same on real servers. */
describe("Curator and our mutex in one queue on the embedded server", () => {
  let server: EmbeddedZooKeeper;
  let peers: JavaPeer[];
  let curators: CuratorClient[];
  let locks: LockProvider;

  beforeAll(async () => {
    server = await startEmbeddedZooKeeper({ seed: embeddedSeed });
    console.log(`embedded server with HOLDFAST_SEED=${server.seed}`);
    const connect = server.connectString;
    peers = await Promise.all(versions.map((curator) => startJavaPeer({ curator })));
    curators = await Promise.all(peers.map((peer) => peer.connect({ connect })));
    locks = zookeeperLocks({ connect });
    await locks.ready();
  });

  afterAll(async () => {
    await locks?.close();
    await Promise.all((peers ?? []).map((peer) => peer.close()));
    await server?.stop();
  });

  it("loses no update of a file that only the lock protects, and grants in the order of the queue", async () => {
    const total = share("grants of Curator and ours on the embedded server", 120, 1_200);
    await using log = await ContentionLog.start();
    const other = zookeeperLocks({ connect: server.connectString });
    const contenders = curators.length + 2;
    const contention = { path: "/mixed/count", ...log.files, grants: total / contenders };
    const held = await locks.mutex(contention.path).acquire({ waitMs });
    const gate = {
      // The path itself and the node of the holder are there as well.
      queued: async () => server.nodes(contention.path).length - 2,
      open: () => held.release(),
    };
    try {
      await behind(gate, [
        ...curators.map((client, at) => client.contend({ ...contention, label: `java-${at}` }, 55_000)),
        ...[locks, other].map((ours, at) => contend(ours, { ...contention, label: `ours-${at}` })),
      ]);
    } finally {
      await other.close();
    }
    const grants = await log.expectOrderly(total);
    const kindOf = ({ label }: { label: string }): string => label.slice(0, 4);
    const across = grants.filter((grant, at) => {
      const before = grants[at - 1];
      return before !== undefined && kindOf(grant) !== kindOf(before);
    });
    expect(across.length, "hand-overs between Curator and us").toBeGreaterThan(total / 10);
    expect(server.nodes(contention.path).map(({ path }) => path)).toEqual([contention.path]);
  });

  it("grants in order of arrival, to Curator and to us", async () => {
    const path = "/mixed/order";
    const first = await locks.mutex(path).acquire({ waitMs });
    const order: string[] = [];
    const work: Promise<unknown>[] = [];
    for (const [at, kind] of ["java", "ours", "ours", "java", "java", "ours"].entries()) {
      const turn = async (release: () => Promise<unknown>): Promise<void> => {
        order.push(`${at} ${kind}`);
        await release();
      };
      if (kind === "ours") {
        const queued = locks.mutex(path).acquire({ waitMs });
        work.push(queued.then((lock) => turn(() => lock.release())));
      } else {
        const mutex = await curators[at % curators.length]?.mutex(path);
        if (mutex === undefined) throw new Error("there is no Curator");
        work.push(mutex.acquire().then(() => turn(() => mutex.release())));
      }
      await expect.poll(() => server.nodes(path)).toHaveLength(at + 3);
    }
    expect(order).toEqual([]);
    await first.release();
    await Promise.all(work);
    expect(order).toEqual(["0 java", "1 ours", "2 ours", "3 java", "4 java", "5 ours"]);
    expect(server.nodes(path)).toHaveLength(1);
  });

  it("ours is granted when the session of Curator's holder ends, and Curator when ours does, and our holder hears of it", async () => {
    const path = "/mixed/expiry";
    for (const [at, peer] of peers.entries()) {
      const victim = await peer.connect({ connect: server.connectString });
      const held = await (await victim.mutex(path)).acquire();
      const queued = locks.mutex(path).acquire({ waitMs });
      await expect.poll(() => server.nodes(path)).toHaveLength(3);
      server.expireSession((await victim.session()).id);
      const lock = await queued;
      expect(lock.token).toBeGreaterThan(held?.czxid ?? 0n);
      await lock.release();

      const doomed = zookeeperLocks({ connect: server.connectString });
      try {
        const ours = await doomed.mutex(path).acquire({ waitMs });
        const { lost } = ours;
        const [, node] = server.nodes(path);
        const theirs = await curators[at]?.mutex(path);
        const next = theirs?.acquire();
        await expect.poll(() => server.nodes(path)).toHaveLength(3);
        server.expireSession(node?.owner ?? 0n);
        expect((await next)?.czxid).toBeGreaterThan(ours.token ?? 0n);
        await expect.poll(() => lost.aborted, { timeout: 10_000 }).toBe(true);
        expect(ours.state).toBe("lost");
        await theirs?.release();
      } finally {
        await doomed.close();
      }
      expect(server.nodes(path), server.describe(path)).toHaveLength(1);
    }
  });

  it("a Curator waiter and a waiter of ours whose connections drop keep their places", async () => {
    const path = "/mixed/drop";
    const holder = await curators[0]?.mutex(path);
    await holder?.acquire();
    const ours = locks.mutex(path).acquire({ waitMs });
    await expect.poll(() => server.nodes(path)).toHaveLength(3);
    const [waiting] = curators.slice(-1);
    const theirs = await waiting?.mutex(path);
    const queued = theirs?.acquire();
    await expect.poll(() => server.nodes(path)).toHaveLength(4);
    const nodes = server.nodes(path).map(({ path: node }) => node);
    const owners = server
      .nodes(path)
      .map(({ owner }) => owner)
      .filter((owner) => owner !== 0n);
    for (const owner of new Set(owners)) expect(server.dropConnection(owner)).toBe(true);
    await expect
      .poll(() => server.sessions().every(({ connected }) => connected), { timeout: 15_000 })
      .toBe(true);
    expect(server.nodes(path).map(({ path: node }) => node)).toEqual(nodes);
    await holder?.release();
    await (await ours).release();
    expect(await queued).not.toBeNull();
    await theirs?.release();
    expect(server.nodes(path)).toHaveLength(1);
  });
});
