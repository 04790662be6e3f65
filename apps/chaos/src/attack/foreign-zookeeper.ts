import { systemRuntime } from "@holdfast/core";
import { startZooKeeperProxy } from "@holdfast/test-servers";
import { CreateFlags, errorCodes, openAcl, ZooKeeperError } from "@holdfast/zk-protocol";
import { openSession, type ZooKeeperSession } from "@holdfast/zk-recipes/internal";
import { UsageError } from "../cli/usage.js";
import { proxiedLink } from "../engine/topologies/links.js";
import type { ServerSet, WorkerLink } from "../engine/topologies/server-set.js";
import { observeZooKeeper } from "../engine/topologies/zookeeper-observer.js";
import type { Address } from "../workload/addresses.js";
import type { AttackTarget } from "./target.js";

const reachWithinMs = 15_000;
const sessionTimeoutMs = 10_000;

/**
 * The ensemble of a user, with a node of the attack's own below the target's path, in which all of its locks are. Nothing of the servers
 * can be reached through it but as a client. `close` deletes the node and what is below it.
 * @throws UsageError when the target's path is not there
 */
export async function openForeignZooKeeper(
  { servers, path }: Extract<AttackTarget, { kind: "zookeeper" }>,
  name: string,
): Promise<ServerSet> {
  const scratch = `${path}/${name}`;
  const hosts = servers.map(({ host, port }) => `${host}:${port}`);
  const connect = `${hosts.join(",")}${scratch}`;
  await inSession(servers, async (session) => {
    const flags = CreateFlags.persistent;
    try {
      await session.request("create", { path: scratch, data: null, acl: openAcl, flags });
    } catch (error) {
      if (codeOf(error) !== errorCodes.NoNode) throw error;
      throw new UsageError(`--target: there is no node ${path}`);
    }
  });
  return {
    topology: { kind: "zookeeper", members: 1 },
    versions: {},
    addresses: { kind: "zookeeper", connect },
    // None that could be hit.
    servers: [],
    link: async (): Promise<WorkerLink> => {
      const proxies = await Promise.all(hosts.map((target) => startZooKeeperProxy({ target })));
      const near = proxies.map(({ connectString }) => connectString).join(",");
      return proxiedLink({ kind: "zookeeper", connect: `${near}${scratch}` }, proxies);
    },
    observer: () => observeZooKeeper(connect),
    heal: async () => {},
    logs: () => [],
    close: async () => {
      try {
        await inSession(servers, (session) => remove(session, scratch));
      } catch (cause) {
        throw new Error(`${scratch} is left, and has to be deleted by hand: ${String(cause)}`, { cause });
      }
    },
  };
}

async function inSession(
  servers: readonly Address[],
  work: (session: ZooKeeperSession) => Promise<void>,
): Promise<void> {
  const session = openSession({ servers, sessionTimeoutMs, runtime: systemRuntime });
  try {
    await session.whenConnected({ waitMs: reachWithinMs });
    await work(session);
  } finally {
    await session.close();
  }
}

/** Children first. What went by itself meanwhile was to go. */
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
