import { eventually, type RedisClientType, type RedisNode } from "@holdfast/test-servers";
import type { LiveHold } from "../tally.js";
import { redisOf, replicaSetOf } from "../topologies/redis-sets.js";
import { rolesOf, type Server } from "../topologies/server-set.js";
import { type FaultContext, type FaultKind, soonBack } from "./fault.js";
import { serverFaults, targets } from "./server.js";

/** The one server that the target means, for faults that only Redis has. */
export async function targetNode(context: FaultContext): Promise<{ server: Server; node: RedisNode }> {
  const { servers } = await targets(context);
  const [server] = servers;
  const node = server && redisOf(context.set).nodes[context.set.servers.indexOf(server)];
  if (server === undefined || node === undefined) {
    throw new RangeError(`${context.planned.fault}: ${context.planned.target} is no data server`);
  }
  return { server, node };
}

/** Whether a hold is one of a worker of the group `options.group`. Without that option every hold is. */
export function ofGroup({ crew, planned }: FaultContext): (hold: LiveHold) => boolean {
  const { group } = planned.options ?? {};
  return ({ p }) => group === undefined || crew.worker(p)?.group.name === group;
}

/** Kills the server with SIGKILL. It comes back without data: no persistence, or a lost disk. Target: a server. */
const empty: FaultKind = {
  async begin(context) {
    const { server, node } = await targetNode(context);
    const roles = await rolesOf(context.set);
    const [runId, keys] = [await node.runId(), Number(await node.command("DBSIZE"))];
    context.begins(server.name);
    await node.restart({ data: "none" });
    const after = { runId: await node.runId(), keys: Number(await node.command("DBSIZE")) };
    return {
      target: server.name,
      evidence: { servers: [server.name], roles, before: { runId, keys }, after },
    };
  },
};

/**
 * CLIENT PAUSE: no client gets an answer for `options.pauseMs`. `options.replaced`: waits until Sentinels have promoted
 * another server. Target: a server.
 */
const clientPause: FaultKind = {
  async begin(context) {
    const { server, node } = await targetNode(context);
    const roles = await rolesOf(context.set);
    const pauseMs = Number(context.planned.options?.pauseMs ?? 4_000);
    // A connection that is open before the pause is held back like any other.
    using witness = await node.connect({ timeoutMs: pauseMs + 10_000 });
    const sentMs = performance.now();
    context.begins(server.name);
    await node.clientPause(pauseMs);
    await witness.command("PING");
    const heldBackMs = Math.round(performance.now() - sentMs);
    // A pause that was over much sooner does not show what it is meant to show.
    if (heldBackMs < pauseMs / 2)
      throw new Error(`redis.client-pause held clients back for ${heldBackMs} ms and not for ${pauseMs} ms`);
    const evidence = { servers: [server.name], roles, pauseMs, heldBackMs };
    if (context.planned.options?.replaced !== true) return { target: server.name, evidence };
    await replicaSetOf(context.set).untilMaster({ not: node, signal: context.signal });
    return { target: server.name, evidence: { ...evidence, rolesAfter: await rolesOf(context.set) } };
  },
};

/** CLIENT KILL of all connections of a type: `normal` or `pubsub`. Target: a server. */
const killClients: FaultKind = {
  async begin(context) {
    const { server, node } = await targetNode(context);
    const type = String(context.planned.options?.type ?? "normal") as RedisClientType;
    context.begins(server.name);
    let killed = 0;
    const kill = async (): Promise<boolean> => {
      killed = await node.killClients(type);
      return killed > 0;
    };
    await soonBack(context, kill, `redis.kill-clients: there was no connection of type ${type}`);
    return { target: server.name, evidence: { servers: [server.name], type, killed } };
  },
};

/** SCRIPT FLUSH: the server answers the next call of each script with NOSCRIPT. Target: a server. */
const flushScripts: FaultKind = {
  async begin(context) {
    const { server, node } = await targetNode(context);
    const cached = async (): Promise<number> =>
      Number((await node.info("memory")).number_of_cached_scripts ?? "0");
    await eventually(async () => (await cached()) > 0, {
      what: "a script to be cached",
      signal: context.signal,
    });
    const scripts = await cached();
    context.begins(server.name);
    await node.flushScripts();
    return { target: server.name, evidence: { servers: [server.name], scripts } };
  },
};

export const plainRedisFaults: Readonly<Record<string, FaultKind>> = {
  ...serverFaults("redis"),
  "redis.empty": empty,
  "redis.client-pause": clientPause,
  "redis.kill-clients": killClients,
  "redis.flush-scripts": flushScripts,
};
