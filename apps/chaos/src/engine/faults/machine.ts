import { eventually, type RedisNode, UnreachableError } from "@holdfast/test-servers";
import { limitOpenFiles, openFilesOf } from "../limits/open-files.js";
import type { ShimHandle } from "../shims/shim-handle.js";
import { placementOf, placeOf } from "../topologies/placement.js";
import { redisOf } from "../topologies/redis-sets.js";
import type { Server } from "../topologies/server-set.js";
import { parseWorkerTarget } from "../trigger.js";
import type { FaultContext, FaultKind } from "./fault.js";
import { targets } from "./server.js";

/** How long a process may take to notice the changed clock, disk or limit. */
const noticedWithinMs = 15_000;

interface Turned {
  readonly name: string;
  readonly handle: ShimHandle;
}

/**
 * The shims of the target: servers by role or name, `worker(w0)`, or `workers`. All of them must have been started
 * under the shims.
 */
async function shimsOf(context: FaultContext): Promise<{ turned: Turned[]; about: Record<string, unknown> }> {
  const { planned, crew, set } = context;
  const target = planned.target ?? "all";
  const worker = parseWorkerTarget(target);
  if (target === "workers" || worker?.role === "worker") {
    const chosen = crew.workers.filter(({ name }) => target === "workers" || name === worker?.name);
    const turned = chosen.map((each) => {
      if (each.shim === null)
        throw new Error(`${each.name} was not started under the shims: set shims for its group`);
      return { name: each.name, handle: each.shim };
    });
    return { turned, about: { p: chosen.map(({ p }) => p) } };
  }
  const { servers, roles } = await targets(context);
  const { shims } = placementOf(set);
  const turned = servers.map(({ name }) => {
    const handle = shims[placeOf(set, name)];
    if (handle === undefined) throw new Error(`${name} was not started under the shims`);
    return { name, handle };
  });
  return { turned, about: { servers: servers.map(({ name }) => name), roles } };
}

/**
 * Turns wall clocks to `byMs` (an option) from the true time, until healed. Monotonic clocks are not changed. Target:
 * servers, `worker(w0)` or `workers`. The fault has happened when each process has read its turned clock.
 */
const clockJump: FaultKind = {
  async begin(context) {
    const byMs = Number(context.planned.options?.byMs ?? 3_600_000);
    const { turned, about } = await shimsOf(context);
    const target = turned.map(({ name }) => name).join(",");
    const before = turned.map(({ handle }) => handle.counts().wallReads);
    const reads = (): number[] =>
      turned.map(({ handle }, at) => handle.counts().wallReads - (before[at] ?? 0));
    const heal = async (): Promise<unknown> => {
      const wallReads = reads();
      for (const { handle } of turned) handle.setWallClock(0);
      return { wallReads };
    };
    context.begins(target, heal);
    for (const { handle } of turned) handle.setWallClock(byMs);
    await eventually(() => reads().every((count) => count > 0), {
      what: `${target} to read the turned clock`,
      withinMs: noticedWithinMs,
      signal: context.signal,
    });
    return { target, evidence: { ...about, byMs, wallReads: reads() }, heal };
  },
};

/** Each flush to the disk takes at least `delayMs` (an option), until healed. The fault has happened when a flush was delayed. */
const slowFlush: FaultKind = {
  async begin(context) {
    const delayMs = Number(context.planned.options?.delayMs ?? 300);
    const { turned, about } = await shimsOf(context);
    const target = turned.map(({ name }) => name).join(",");
    const before = turned.map(({ handle }) => handle.counts().flushes);
    const flushes = (): number[] =>
      turned.map(({ handle }, at) => handle.counts().flushes - (before[at] ?? 0));
    const heal = async (): Promise<unknown> => {
      const held = flushes();
      for (const { handle } of turned) handle.setFsyncDelay(0);
      return { flushes: held };
    };
    context.begins(target, heal);
    for (const { handle } of turned) handle.setFsyncDelay(delayMs);
    await eventually(() => flushes().every((count) => count > 0), {
      what: `${target} to flush to a slow disk`,
      withinMs: noticedWithinMs,
      signal: context.signal,
    });
    return { target, evidence: { ...about, delayMs, flushes: flushes() }, heal };
  },
};

/**
 * Fills the disk of a server to the last block, until healed. A ZooKeeper server ends at the first write that fails; a
 * Redis server refuses writes. Either of these shows that the fault happened. Healing frees the disk and starts the
 * server again if it has ended.
 */
const diskFull: FaultKind = {
  async begin(context) {
    const { servers, roles } = await targets(context);
    const [server] = servers;
    const disk = server && placementOf(context.set).disks[placeOf(context.set, server.name)];
    if (server === undefined || disk === undefined)
      throw new Error("disk.full needs a server on a small disk");
    const heal = async (): Promise<unknown> => {
      const ended = !server.running;
      await disk.free();
      if (ended) await server.restart();
      return { ended };
    };
    context.begins(server.name, heal);
    const filledBytes = await disk.fill();
    const felt = await eventually(async () => (await feels(context, server)) ?? undefined, {
      what: `${server.name} to feel that its disk is full`,
      withinMs: noticedWithinMs,
      signal: context.signal,
      everyMs: 50,
    });
    return { target: server.name, evidence: { servers: [server.name], roles, filledBytes, felt }, heal };
  },
};

/** How a server shows that it cannot write; `null` while it does not. */
async function feels(context: FaultContext, server: Server): Promise<string | null> {
  if (!server.running) return "it ended";
  if (context.set.topology.kind !== "redis") return null;
  const node = redisOf(context.set).nodes[context.set.servers.indexOf(server)];
  const { aof_last_write_status: status } = (await node?.info("persistence")) ?? {};
  return status === "err" ? "it refuses writes" : null;
}

/**
 * Leaves a running Redis server room for `connections` (an option, default 4), until healed, by its limit of open
 * files. All clients have to connect again. The fault has happened when a new connection is not answered while an old
 * one is.
 */
const openFiles: FaultKind = {
  async begin(context) {
    const room = Number(context.planned.options?.connections ?? 4);
    const { servers, roles } = await targets(context);
    const [server] = servers;
    const node = server && redisOf(context.set).nodes[context.set.servers.indexOf(server)];
    const pid = Number(server?.evidence().pid ?? 0);
    if (server === undefined || node === undefined || pid === 0)
      throw new Error("limit.open-files needs a running Redis server");
    // Open this connection before the limit is set: a later one may get no answer.
    const connection = await node.connect({ timeoutMs: 10_000 });
    let restore: () => Promise<void> = async () => {};
    let most = 0;
    let unanswered = 0;
    const heal = async (): Promise<unknown> => {
      connection.close();
      if (server.running) await restore();
      return { unanswered };
    };
    try {
      const told = String(await connection.command("INFO", "clients"));
      const clients = Number(/connected_clients:(\d+)/.exec(told)?.[1] ?? 1);
      most = openFilesOf(pid) - clients + 1 + room;
      context.begins(server.name);
      restore = await limitOpenFiles(pid, most);
      for (const type of ["normal", "pubsub"])
        await connection.command("CLIENT", "KILL", "TYPE", type, "SKIPME", "YES");
      await eventually(
        async () => {
          await connection.command("PING");
          if (openFilesOf(pid) < most || (await answers(node))) return false;
          unanswered += 1;
          return true;
        },
        {
          what: `${server.name} to leave a connection unanswered`,
          withinMs: noticedWithinMs,
          everyMs: 50,
          signal: context.signal,
        },
      );
    } catch (error) {
      await heal();
      throw error;
    }
    return {
      target: server.name,
      evidence: { servers: [server.name], roles, pid, most, unanswered },
      heal,
    };
  },
};

async function answers(node: Pick<RedisNode, "connect">): Promise<boolean> {
  try {
    using connection = await node.connect({ timeoutMs: 300 });
    await connection.command("PING");
    return true;
  } catch (error) {
    if (error instanceof UnreachableError) return false;
    throw error;
  }
}

/**
 * Lowers a Redis server's own limit of connections to `most` (an option), until healed. The fault has happened when a
 * connection was refused.
 */
const maxClients: FaultKind = {
  async begin(context) {
    const most = Number(context.planned.options?.most ?? 2);
    const { servers, roles } = await targets(context);
    const [server] = servers;
    const node = server && redisOf(context.set).nodes[context.set.servers.indexOf(server)];
    if (server === undefined || node === undefined) throw new Error("limit.max-clients needs a Redis server");
    // Open this connection before the limit is set: a later one may be refused.
    const connection = await node.connect({ timeoutMs: 10_000 });
    const ask = async (...words: string[]): Promise<string> => String(await connection.command(...words));
    const refused = async (): Promise<number> =>
      Number(/rejected_connections:(\d+)/.exec(await ask("INFO", "stats"))?.[1] ?? 0);
    const before = String([await connection.command("CONFIG", "GET", "maxclients")].flat()[1] ?? 10_000);
    const already = await refused();
    const heal = async (): Promise<unknown> => {
      const count = (await refused()) - already;
      await ask("CONFIG", "SET", "maxclients", before);
      connection.close();
      return { refused: count };
    };
    context.begins(server.name, heal);
    await ask("CONFIG", "SET", "maxclients", String(most));
    // The limit does not end existing connections, so end them: the clients must connect again.
    await ask("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "YES");
    await eventually(async () => (await refused()) > already, {
      what: `${server.name} to refuse a connection`,
      withinMs: noticedWithinMs,
      signal: context.signal,
      everyMs: 50,
    });
    return { target: server.name, evidence: { servers: [server.name], roles, most }, heal };
  },
};

export const machineFaults: Readonly<Record<string, FaultKind>> = {
  "clock.jump": clockJump,
  "disk.slow": slowFlush,
  "disk.full": diskFull,
  "limit.open-files": openFiles,
  "limit.max-clients": maxClients,
};
