import { setTimeout as pass } from "node:timers/promises";
import { systemRuntime } from "@holdfast/core";
import { errorCodes, ZooKeeperError } from "@holdfast/zk-protocol";
import { type ZooKeeperLocks, type ZooKeeperLocksOptions, zookeeperLocks } from "@holdfast/zk-recipes";
import { openSession, parseConnectString, type ZooKeeperSession } from "@holdfast/zk-recipes/internal";
import type { WorkerKey } from "../../workload/protocol.js";
import { pathsOf } from "../../workload/recipes/zookeeper-paths.js";
import type { Observer } from "./server-set.js";

/** Longer than any fault that a scenario causes at servers. */
const sessionTimeoutMs = 10_000;

/** Takes holders and waiters from `inspect`, as operators see them, and what is left from plain reads of nodes. */
export async function observeZooKeeper(
  connect: string,
  access: Pick<ZooKeeperLocksOptions, "auth" | "tls"> = {},
): Promise<Observer> {
  const locks = zookeeperLocks({ connect, sessionTimeoutMs, ...access });
  const { servers, chroot } = parseConnectString(connect);
  let session: ZooKeeperSession | null = null;
  /** A lost session stays lost, so the next look opens a new one. */
  const reader = async (): Promise<ZooKeeperSession> => {
    if (session === null || session.state === "lost" || session.state === "closed") {
      session = openSession({ servers, sessionTimeoutMs, runtime: systemRuntime, ...access });
    }
    await session.whenConnected({ waitMs: 5_000 });
    return session;
  };
  return {
    look: (key) => look(locks, key),
    left: async (key) => {
      const through = await reader();
      const found = await Promise.all(pathsOf(key).map((path) => nodesBelow(through, chroot + path)));
      return found.flat();
    },
    close: async () => {
      await Promise.all([locks.close(), session?.close()]);
    },
  };
}

async function look(
  locks: ZooKeeperLocks,
  key: WorkerKey,
): Promise<{ readonly holders: readonly string[]; readonly queue: readonly string[] }> {
  const { held, pending } = await Promise.race([
    locks.mutex(key.name).inspect(),
    pass(2_000, undefined, { ref: false }).then(() => {
      throw new Error("no answer");
    }),
  ]);
  // With `identity` the node contains `label host:pid`.
  const named = ({ label }: { label: string | null }): string[] => {
    const [word] = label?.split(" ") ?? [];
    return word === undefined ? [] : [word];
  };
  return { holders: held.flatMap(named), queue: pending.flatMap(named) };
}

/** Everything below a lock's path, except the parents that stay. */
async function nodesBelow(session: ZooKeeperSession, path: string): Promise<string[]> {
  await session.request("sync", { path });
  const left: string[] = [];
  const visit = async (node: string, top: boolean): Promise<void> => {
    let children: readonly string[];
    let ephemeral: boolean;
    try {
      const read = await session.request("getChildren2", { path: node, watch: false });
      children = read.children;
      ephemeral = read.stat.ephemeralOwner !== 0n;
    } catch (error) {
      if (error instanceof ZooKeeperError && error.code === errorCodes.NoNode) return;
      throw error;
    }
    // A semaphore keeps its two parents. In Curator's layout they are persistent, and they belong to no worker.
    const parent = !ephemeral && (top || /\/(locks|leases)$/.test(node));
    if (!parent) left.push(ephemeral ? node : `${node} (persistent)`);
    for (const child of children) await visit(`${node}/${child}`, false);
  };
  await visit(path, true);
  return left;
}
