import { systemRuntime } from "@holdfast/core";
import { startZooKeeperProxy } from "@holdfast/test-servers";
import { errorCodes, ZooKeeperError } from "@holdfast/zk-protocol";
import { openSession, type ZooKeeperSession } from "@holdfast/zk-recipes/internal";
import type { ServerSet, WorkerLink } from "../engine/topologies/server-set.js";
import { ProxiedLink } from "../engine/topologies/zookeeper.js";
import { observeZooKeeper } from "../engine/topologies/zookeeper-observer.js";
import type { AttackTarget } from "./target.js";

const reachWithinMs = 15_000;
const sessionTimeoutMs = 10_000;

/** World, all: as ZooKeeper's own clients make nodes unless told otherwise. */
const open = [{ perms: 31, scheme: "world", id: "anyone" }];
const persistent = 0;

/**
 * Somebody's ensemble, with a node of the attack's own, `scratch`, in which all of its locks are. Nothing of the servers can be reached
 * through it but as a client. `close` deletes the node and what is below it.
 */
export async function openForeignZooKeeper(
  { servers, path }: Extract<AttackTarget, { kind: "zookeeper" }>,
  name: string,
): Promise<ServerSet> {
  const scratch = `${path}/${name}`;
  const hosts = servers.map(({ host, port }) => `${host}:${port}`);
  const connect = `${hosts.join(",")}${scratch}`;
  const session = openSession({ servers, sessionTimeoutMs, runtime: systemRuntime });
  try {
    await session.whenConnected({ waitMs: reachWithinMs });
    await session.request("create", { path: scratch, data: null, acl: open, flags: persistent });
  } catch (error) {
    await session.close();
    if (codeOf(error) === errorCodes.NoNode)
      throw new Error(`there is no node ${path}: make it first`, { cause: error });
    throw error;
  }
  return {
    topology: { kind: "zookeeper", members: 1 },
    versions: {},
    addresses: { kind: "zookeeper", connect },
    // None that could be hit.
    servers: [],
    link: async (): Promise<WorkerLink> =>
      new ProxiedLink(await Promise.all(hosts.map((target) => startZooKeeperProxy({ target }))), scratch),
    observer: () => observeZooKeeper(connect),
    heal: async () => {},
    logs: () => [],
    close: async () => {
      try {
        await remove(session, scratch);
      } finally {
        await session.close();
      }
    },
  };
}

/** Parents last. Whoever took away a node meanwhile was one of ours. */
async function remove(session: ZooKeeperSession, path: string): Promise<void> {
  try {
    const { children } = await session.request("getChildren2", { path, watch: false });
    for (const child of children) await remove(session, `${path}/${child}`);
    await session.request("delete", { path, version: -1 });
  } catch (error) {
    if (codeOf(error) !== errorCodes.NoNode) throw error;
  }
}

const codeOf = (error: unknown): number | null => (error instanceof ZooKeeperError ? error.code : null);
