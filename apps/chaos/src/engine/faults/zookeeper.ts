import { systemRuntime } from "@holdfast/core";
import {
  eventually,
  expireSession,
  type ProxiedSession,
  UnknownSessionError,
  ZooKeeperProxy,
} from "@holdfast/test-servers";
import { errorCodes, ZooKeeperError } from "@holdfast/zk-protocol";
import { openSession, parseConnectString, type ZooKeeperSession } from "@holdfast/zk-recipes/internal";
import { pathsOf } from "../../workload/recipes/zookeeper-paths.js";
import type { Worker } from "../crew.js";
import type { ServerSet } from "../topologies/server-set.js";
import { aim, strike } from "./aim.js";
import type { FaultContext, FaultKind, OngoingFault } from "./fault.js";
import { serverFaults } from "./server.js";

/**
 * Ends a worker's session at the server: the runner takes the session over on a connection of its own and closes it.
 * The worker's nodes are gone at once, before the worker can know. Only fencing can then keep the worker and its
 * successor apart.
 */
const sessionKill: FaultKind = {
  async begin(context: FaultContext): Promise<OngoingFault> {
    const { addresses } = context.set;
    if (addresses.kind !== "zookeeper") throw new Error("zk.session-kill needs ZooKeeper");
    let id = "";
    const { worker, of } = await strike(
      context,
      async ({ worker }) => {
        for (let tries = 1; ; tries++) {
          const { sessionId, password } = await livingSession(context, worker);
          id = BigInt.asUintN(64, sessionId).toString(16);
          try {
            return await expireSession({ connectString: addresses.connect, sessionId, password });
          } catch (error) {
            // The session ended by itself after another fault, and the worker is about to get its next session.
            if (tries >= 3 || !(error instanceof UnknownSessionError)) throw error;
          }
        }
      },
      async () => {},
    );
    return { target: worker.name, evidence: { p: worker.p, session: id, of } };
  },
};

/** The sessions that faults have ended, or are about to end, for each set of servers. */
const ended = new WeakMap<ServerSet, Set<bigint>>();

function endedOf(set: ServerSet): Set<bigint> {
  const known = ended.get(set) ?? new Set();
  ended.set(set, known);
  return known;
}

/**
 * The session that a worker has now, which the caller then has to end. If another fault has taken that session, waits
 * for the next one.
 */
async function livingSession(context: FaultContext, worker: Worker): Promise<ProxiedSession> {
  if (worker.link.proxies.length === 0)
    throw new Error(`${worker.name} has no proxies: its group must be proxied`);
  const session = (): ProxiedSession | null => {
    const latest = worker.link.session();
    const ours = endedOf(context.set);
    if (latest === null || ours.has(latest.sessionId)) return null;
    // Mark it in the same turn: two faults that end the same session would take it from each other, and one would get no answer.
    ours.add(latest.sessionId);
    return latest;
  };
  return await eventually(session, {
    what: `a session of ${worker.name}`,
    everyMs: 2,
    signal: context.signal,
  });
}

/** The requests on the wire that take a lock or give it back. */
const takes = ["create", "create2", "createContainer", "multi"] as const;
const gives = ["delete"] as const;

/**
 * Loses the answers to a worker's creates and deletes, and with each answer the connection. Creates and deletes take
 * turns, and the random stream chooses the moments. The server has acted, and the worker does not know it. The fault is
 * over when `options.times` answers (default 20) were lost.
 */
const loseReplies: FaultKind = {
  async begin(context: FaultContext): Promise<OngoingFault> {
    const { random, signal, planned } = context;
    const times = Number(planned.options?.times ?? 20);
    const aimed = await aim(context);
    if (aimed === null) throw new Error(`there was no ${planned.target} to hit`);
    const { worker } = aimed;
    const proxies = worker.link.proxies.filter((proxy) => proxy instanceof ZooKeeperProxy);
    if (proxies.length === 0) throw new Error(`${worker.name} has no proxies: its group must be proxied`);
    const over = new Promise<null>((resolve) => {
      signal.addEventListener("abort", () => resolve(null), { once: true });
    });
    context.begins(worker.name);
    const lost = { creates: 0, deletes: 0 };
    while (lost.creates + lost.deletes < times && !signal.aborted) {
      const taking = lost.creates <= lost.deletes;
      const match = { op: taking ? takes : gives, nth: random.between(1, 3), thenCut: true };
      const rules = proxies.map((proxy) => proxy.dropReply(match));
      try {
        const hit = await Promise.race([over, ...rules.map((rule) => rule.hit({ withinMs: 30_000 }))]);
        if (hit !== null) lost[taking ? "creates" : "deletes"] += 1;
      } finally {
        for (const rule of rules) rule.release();
      }
    }
    if (lost.creates + lost.deletes < times)
      throw new Error(`only ${JSON.stringify(lost)} answers were lost`);
    return { target: worker.name, evidence: { p: worker.p, ...lost } };
  },
};

/**
 * Removes the parent nodes of a key's locks whenever they are empty, as a server removes an empty container and an
 * operator removes nodes that look unused. The fault is over when `options.times` parents (default 10) were removed.
 */
const removeParents: FaultKind = {
  async begin(context: FaultContext): Promise<OngoingFault> {
    const { crew, planned, set, signal } = context;
    const key = crew.keys.find(({ id }) => id === planned.target);
    if (key === undefined || set.addresses.kind !== "zookeeper")
      throw new Error(`zk.remove-parents needs a key on ZooKeeper, not ${planned.target}`);
    const times = Number(planned.options?.times ?? 10);
    const { servers, chroot } = parseConnectString(set.addresses.connect);
    const session = openSession({ servers, sessionTimeoutMs: 10_000, runtime: systemRuntime });
    const paths = pathsOf(key).map((path) => chroot + path);
    let removed = 0;
    try {
      await session.whenConnected({ waitMs: 5_000 });
      context.begins(key.id);
      while (removed < times && !signal.aborted) {
        for (const path of paths) if (await removedEmpty(session, path)) removed += 1;
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
    } finally {
      await session.close();
    }
    if (removed < times) throw new Error(`${key.id} was without a client ${removed} times and not ${times}`);
    return { target: key.id, evidence: { paths, removed } };
  },
};

/** Whether the node, or a semaphore's parent directly below it, existed, was empty, and is now deleted. */
async function removedEmpty(session: ZooKeeperSession, path: string): Promise<boolean> {
  try {
    await session.request("delete", { path, version: -1 });
    return true;
  } catch (error) {
    const code = error instanceof ZooKeeperError ? error.code : null;
    if (code === errorCodes.NoNode) return false;
    if (code !== errorCodes.NotEmpty) throw error;
  }
  const parts = ["locks", "leases"].map((part) => removedEmpty(session, `${path}/${part}`));
  return (await Promise.all(parts)).includes(true);
}

export const zooKeeperFaults: Readonly<Record<string, FaultKind>> = {
  ...serverFaults("zk"),
  "zk.session-kill": sessionKill,
  "zk.lose-replies": loseReplies,
  "zk.remove-parents": removeParents,
};
