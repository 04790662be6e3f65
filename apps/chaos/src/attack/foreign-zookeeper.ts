import { systemRuntime } from "@holdfast/core";
import { addressText } from "@holdfast/core/internal";
import { startProxy, startZooKeeperProxy } from "@holdfast/test-servers";
import { CreateFlags, errorCodes, openAcl, Perms, ZooKeeperError } from "@holdfast/zk-protocol";
import { openSession, parseConnectString, type ZooKeeperSession } from "@holdfast/zk-recipes/internal";
import { UsageError } from "../cli/usage.js";
import { proxiedLink } from "../engine/topologies/links.js";
import type { ServerSet } from "../engine/topologies/server-set.js";
import { observeZooKeeper } from "../engine/topologies/zookeeper-observer.js";
import type { AttackedServers } from "../workload/addresses.js";
import { zooKeeperOptions } from "../workload/attacked.js";

/** How long the attack tries to reach a server: the longest time that a worker tries, too. */
const reachWithinMs = 30_000;
const sessionTimeoutMs = 10_000;

/** Lets only the user that creates a node read, change and delete it. */
const ownAcl = [{ perms: Perms.ALL, scheme: "auth", id: "" }];

type Attacked = Extract<AttackedServers, { readonly backend: "zookeeper" }>;

/**
 * Opens the ensemble of a user. All locks are in a node of the attack's own below the target's path. Through it the
 * servers can only be reached as by a client. `close` deletes the node and everything below it. When `signal` aborts
 * before the node is made, the promise rejects, and nothing is left there.
 * @throws UsageError if the target's path does not exist, or the user of the target may not use it
 */
export async function openForeignZooKeeper(
  attacked: Attacked,
  name: string,
  signal: AbortSignal,
): Promise<ServerSet> {
  const { connect = "", ...access } = zooKeeperOptions(attacked);
  const { servers, chroot: path } = parseConnectString(connect);
  const scratch = `${path}/${name}`;
  const hosts = servers.map(addressText).join(",");
  const at = (list: readonly string[]): Attacked => ({
    ...attacked,
    options: { ...attacked.options, connect: `${list.join(",")}${scratch}` },
  });
  const inSession = async (
    work: (session: ZooKeeperSession) => Promise<void>,
    given: { readonly signal?: AbortSignal } = {},
  ): Promise<void> => {
    const session = openSession({ servers, sessionTimeoutMs, runtime: systemRuntime, ...access });
    try {
      await session.whenConnected({ waitMs: reachWithinMs, ...given });
      given.signal?.throwIfAborted();
      await work(session);
    } finally {
      await session.close();
    }
  };
  await inSession(
    async (session) => {
      const flags = CreateFlags.persistent;
      const acl = access.auth === undefined ? openAcl : ownAcl;
      try {
        await session.request("create", { path: scratch, data: null, acl, flags });
      } catch (error) {
        const code = codeOf(error);
        if (code === errorCodes.NoNode) throw new UsageError(`--target: there is no node ${path}`);
        if (code !== errorCodes.NoAuth) throw error;
        throw new UsageError(`--target: this user may make no node below ${path === "" ? "/" : path}`);
      }
    },
    { signal },
  );
  const start = attacked.tls === null ? startZooKeeperProxy : startProxy;
  return {
    topology: { kind: "zookeeper", members: 1 },
    versions: {},
    addresses: { kind: "zookeeper", connect: `${hosts}${scratch}` },
    // No server here may be hit by a fault.
    servers: [],
    link: async () => {
      const proxies = await Promise.all(servers.map((target) => start({ target })));
      return proxiedLink(at(proxies.map(({ connectString }) => connectString)), proxies);
    },
    observer: () => observeZooKeeper(`${hosts}${scratch}`, access),
    heal: async () => {},
    logs: () => [],
    close: async () => {
      try {
        await inSession((session) => remove(session, scratch));
      } catch (cause) {
        throw new Error(`${scratch} is left, and has to be deleted by hand: ${(cause as Error).message}`);
      }
    },
  };
}

/** Deletes children first. A node that is already gone is no error. */
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
