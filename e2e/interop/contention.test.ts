import type { LockProvider } from "@holdfast/core";
import { startZooKeeper, type ZooKeeperNode } from "@holdfast/test-servers";
import { zookeeperLocks } from "@holdfast/zk-recipes";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type CuratorClient,
  curatorVersionsInShare,
  type JavaPeer,
  startJavaPeer,
} from "../support/curator/java-peer.js";
import { contend } from "../support/process/contend.js";
import { type ContenderProcess, startContenderProcess } from "../support/process/contender-process.js";
import { share } from "../support/share.js";
import { ContentionLog } from "./contention-log.js";
import { behind } from "./gate.js";

const fullGrants = 2_000;

describe.each(await curatorVersionsInShare())("two contenders of ours and two of Curator %s", (curator) => {
  let server: ZooKeeperNode;
  let java: JavaPeer;
  let curators: CuratorClient[];
  let locks: LockProvider;
  let other: ContenderProcess;

  beforeAll(async () => {
    server = await startZooKeeper();
    java = await startJavaPeer({ curator });
    const connect = server.connectString;
    curators = await Promise.all([java.connect({ connect }), java.connect({ connect })]);
    locks = zookeeperLocks({ connect });
    await locks.ready();
    other = await startContenderProcess(connect);
  });

  afterAll(async () => {
    await Promise.all([other?.close(), locks?.close(), java?.close()]);
    await server?.stop();
  });

  it(
    "lose no update of a file that only the lock protects, and are granted in the order of the queue",
    async () => {
      const total = share(`grants with Curator ${java.curatorVersion}`, 120, fullGrants);
      const grants = total / 4;
      const withinMs = 60_000 + total * 200;
      await using log = await ContentionLog.start();
      const path = `/interop/contention-${curator}`;
      const contention = { path, ...log.files, grants };
      const mutex = locks.mutex(path);
      const held = await mutex.acquire({ waitMs: 30_000 });
      const gate = {
        queued: async () => (await mutex.inspect()).pendingTotal,
        open: () => held.release(),
      };
      await behind(gate, [
        ...curators.map((client, at) => client.contend({ ...contention, label: `curator-${at}` }, withinMs)),
        contend(locks, { ...contention, label: "ours-0" }),
        other.contend({ ...contention, label: "ours-1" }, withinMs),
      ]);
      const granted = await log.expectOrderly(total);

      // The clients did contend. A run in which each works alone would prove nothing.
      const handOvers = granted.filter(
        (grant, at) => at > 0 && grant.label !== granted[at - 1]?.label,
      ).length;
      const acrossKinds = granted.filter(
        (grant, at) => at > 0 && grant.label.slice(0, 4) !== granted[at - 1]?.label.slice(0, 4),
      ).length;
      console.log(`${total} grants, ${handOvers} hand-overs, ${acrossKinds} of them between Curator and us`);
      expect(acrossKinds).toBeGreaterThan(total / 10);
    },
    60_000 + fullGrants * 250,
  );
});
