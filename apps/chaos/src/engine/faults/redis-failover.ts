import { eventually, type RedisNode, type RedisReplicaSet } from "@holdfast/test-servers";
import { redisOf, replicaSetOf } from "../topologies/redis-sets.js";
import { rolesOf, type WorkerLink } from "../topologies/server-set.js";
import type { FaultContext, FaultKind } from "./fault.js";
import { ofGroup, targetNode } from "./redis.js";

const promotedWithinMs = 30_000;

function nameOf({ set }: FaultContext, node: RedisNode): string {
  return set.servers[redisOf(set).nodes.indexOf(node)]?.name ?? `redis at ${node.port}`;
}

const overlapWithinMs = 20_000;

/**
 * Resolves when `overlaps` holds of a key were granted while another hold was on, according to the records that have
 * arrived: clients take a while to find a new master. The checkers decide whether they overlapped; without any such
 * hold, nothing was demonstrated.
 */
async function untilOverlaps({ planned, signal, tally }: FaultContext): Promise<number> {
  const { key = "k1", overlaps = 0 } = planned.options ?? {};
  const beside = new Set<string>();
  const look = (): boolean => {
    const [first, ...others] = tally.holders(String(key));
    if (first !== undefined) for (const { id } of others) beside.add(id);
    return beside.size >= Number(overlaps);
  };
  await tally.until(look, { signal, withinMs: overlapWithinMs });
  return beside.size;
}

/** With `options.group`, waits until a worker of that group holds `options.key`. */
async function untilHeldBy(context: FaultContext): Promise<void> {
  const { planned, signal, tally } = context;
  const { key = "k1", group } = planned.options ?? {};
  if (group === undefined) return;
  const held = () => tally.holders(String(key)).some(ofGroup(context));
  if (!(await tally.until(held, { signal }))) throw new Error(`no worker of the group ${group} held ${key}`);
}

/** The master that the Sentinels name, and the roles that the servers report. */
async function scene(
  context: FaultContext,
  replicaSet: RedisReplicaSet,
): Promise<{ master: RedisNode; server: string; roles: Record<string, string> }> {
  const master = await replicaSet.master();
  return { master, server: nameOf(context, master), roles: await rolesOf(context.set) };
}

/**
 * Sends SENTINEL FAILOVER while the master is well. A replica takes over, and the old master goes on for the clients
 * that stay with it. With `options.overlaps` the fault ends once so many holds of `options.key` began beside another
 * one.
 */
const failover: FaultKind = {
  async begin(context) {
    await untilHeldBy(context);
    const replicaSet = replicaSetOf(context.set);
    const { server, roles } = await scene(context, replicaSet);
    context.begins(server);
    const next = await replicaSet.failover(promotedWithinMs);
    const evidence = { servers: [server], roles, promoted: nameOf(context, next) };
    const rolesAfter = await rolesOf(context.set);
    return { target: server, evidence: { ...evidence, rolesAfter, overlaps: await untilOverlaps(context) } };
  },
};

/**
 * Stops the master with SIGSTOP until the Sentinels have promoted another server, and for `options.goOnAfterMs` more
 * (default 300). After that there are two masters. `options.overlaps` as in a planned failover.
 */
const freezeMaster: FaultKind = {
  async begin(context) {
    const replicaSet = replicaSetOf(context.set);
    const { master, server, roles } = await scene(context, replicaSet);
    context.begins(server);
    await master.pause();
    try {
      const next = await replicaSet.untilMaster({
        not: master,
        withinMs: promotedWithinMs,
        signal: context.signal,
      });
      const goOnAfterMs = Number(context.planned.options?.goOnAfterMs ?? 300);
      await new Promise((resolve) => setTimeout(resolve, goOnAfterMs));
      const evidence = { servers: [server], roles, promoted: nameOf(context, next) };
      master.resume();
      return { target: server, evidence: { ...evidence, overlaps: await untilOverlaps(context) } };
    } finally {
      master.resume();
    }
  },
};

/**
 * Kills the master with SIGKILL. Resolves when another server is promoted. Healing starts the old master again, which
 * is then made a replica.
 */
const killMaster: FaultKind = {
  async begin(context) {
    const replicaSet = replicaSetOf(context.set);
    const { master, server, roles } = await scene(context, replicaSet);
    const heal = (): Promise<void> => master.restart();
    context.begins(server, heal);
    await master.kill();
    const next = await replicaSet.untilMaster({
      not: master,
      withinMs: promotedWithinMs,
      signal: context.signal,
    });
    return { target: server, evidence: { servers: [server], roles, promoted: nameOf(context, next) }, heal };
  },
};

/**
 * Makes replication lag until a worker of the group `options.group` is granted the key `options.key`, and kills the
 * master before any replica has received that grant. If the group is granted nothing for `options.waitMs`, the master
 * is killed without a grant (default: wait for the whole run).
 * `options.free`: replication is cut at a moment without a holder (default: unless `waitMs` is given). A grant to the
 * group whose record came with the cut may be one that no replica has, or not. The fault then fails if none follows it.
 * The held-back data is never delivered, because a replica is promoted first.
 */
const killBehind: FaultKind = {
  async begin(context) {
    const { crew, planned, tally, signal } = context;
    const { key = "k1", group = "", waitMs, free = waitMs === undefined } = planned.options ?? {};
    const replicaSet = replicaSetOf(context.set);
    const { master, server, roles } = await scene(context, replicaSet);
    let link: WorkerLink | null = null;
    const heal = async (): Promise<void> => {
      await link?.setMode("ok");
      // If something failed before the kill, the master still runs.
      if (!master.running) await master.restart();
    };
    context.begins(server, heal);
    const replicas = replicaSet.nodes.filter((node) => node !== master);
    try {
      const cutMs = await cutWhileFree(replicaSet, replicas, free === true, signal);
      // By then the records of the grants before the cut have arrived.
      await new Promise((resolve) => setTimeout(resolve, 100));
      const holders = tally.holders(String(key));
      const known = new Set(holders.map(({ id }) => id));
      const fits = ofGroup(context);
      const atCut = holders.find((hold) => hold.sinceMs >= cutMs && fits(hold)) ?? null;
      const granted = () => tally.holders(String(key)).find((hold) => !known.has(hold.id) && fits(hold));
      await tally.until(() => granted() !== undefined, {
        signal,
        ...(waitMs !== undefined && { withinMs: Number(waitMs) }),
      });
      const hold = granted() ?? null;
      if (hold === null && waitMs === undefined) {
        throw new Error(`${group} was granted nothing while replication lagged`);
      }
      if (hold === null && free === true && atCut !== null) {
        throw new Error(`${atCut.id} was granted just as replication was cut, and ${group} nothing after it`);
      }
      // If the holder has proxies of its own, it is cut off from here on.
      const theirs = hold === null ? undefined : crew.worker(hold.p)?.link;
      const cutOff = theirs !== undefined && theirs.proxies.length > 0;
      if (cutOff) {
        // A lock that was handed over has its full lease only after the first renewal, which follows at once.
        await new Promise((resolve) => setTimeout(resolve, 200));
        link = theirs;
        await link.setMode("hole");
      }
      await master.kill();
      const next = await replicaSet.untilMaster({ not: master, withinMs: promotedWithinMs, signal });
      const grants = { unreplicated: hold?.id ?? null, atCut: atCut?.id ?? null };
      const evidence = { servers: [server], roles, ...grants, cutOff };
      return { target: server, evidence: { ...evidence, promoted: nameOf(context, next) }, heal };
    } finally {
      for (const node of replicas) replicaSet.healReplication(node);
    }
  },
};

/**
 * Cuts replication. With `free` it does so at a moment at which no replica knows of a holder. The lease of such a
 * holder would keep all others out at the next master. Resolves with the time of the cut, on the clock of
 * `performance.now()`.
 */
async function cutWhileFree(
  set: RedisReplicaSet,
  replicas: readonly RedisNode[],
  free: boolean,
  signal: AbortSignal,
): Promise<number> {
  return await eventually(
    async () => {
      const cutMs = performance.now();
      for (const node of replicas) set.cutReplication(node);
      const held = await Promise.all(replicas.map((node) => node.command("KEYS", "chaos-*")));
      if (!free || held.flat().length === 0) return cutMs;
      for (const node of replicas) set.healReplication(node);
      return false;
    },
    { what: "a moment without a holder", withinMs: promotedWithinMs, everyMs: 5, signal },
  );
}

/**
 * Sends FAILOVER TO, as an operator without Sentinels does. The master hands over its data, and the common address then
 * leads to the next master.
 */
const handOver: FaultKind = {
  async begin(context) {
    const { nodes, front } = redisOf(context.set);
    if (front === undefined) throw new Error("redis.hand-over is for replicas without Sentinels");
    const { server, node: master } = await targetNode(context);
    const next = nodes.find((node) => node !== master);
    if (next === undefined) throw new Error("there is no replica to hand over to");
    // FAILOVER TO is refused for a replica that the master does not count yet.
    await eventually(async () => ((await master.role()).replicas ?? 0) > 0, {
      what: "the replica to be online",
      signal: context.signal,
    });
    const roles = await rolesOf(context.set);
    context.begins(server.name);
    await master.command("FAILOVER", "TO", next.host, next.port, "TIMEOUT", promotedWithinMs);
    await eventually(async () => (await next.role()).role === "master", {
      what: "the replica to be the master",
      withinMs: promotedWithinMs,
      everyMs: 5,
      signal: context.signal,
    });
    front.lead(next.address);
    front.resetAll();
    const evidence = { servers: [server.name], roles, promoted: nameOf(context, next) };
    return { target: server.name, evidence: { ...evidence, rolesAfter: await rolesOf(context.set) } };
  },
};

export const redisFailovers: Readonly<Record<string, FaultKind>> = {
  "redis.failover": failover,
  "redis.freeze-master": freezeMaster,
  "redis.kill-master": killMaster,
  "redis.kill-behind": killBehind,
  "redis.hand-over": handOver,
};
