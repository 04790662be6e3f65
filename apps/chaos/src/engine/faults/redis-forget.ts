import { eventually, type RedisNode, startRedis } from "@holdfast/test-servers";
import type { Worker } from "../crew.js";
import type { LiveHold } from "../tally.js";
import { redisOf } from "../topologies/redis-sets.js";
import { rolesOf } from "../topologies/server-set.js";
import type { FaultContext, FaultKind } from "./fault.js";
import { ofGroup, targetNode } from "./redis.js";

/** How a master forgets what it had promised. */
interface Relapse {
  /** Runs before the promise. */
  prepare(node: RedisNode): Promise<unknown>;
  /** Runs after the promise, when the master has been killed. */
  comeBack(node: RedisNode): Promise<unknown>;
  /** Makes the master serve at its own address again. */
  mend(node: RedisNode): Promise<void>;
}

const relapses: Readonly<Record<string, () => Relapse>> = {
  /** The master is killed and started again, with the data that it had kept. */
  restart: () => ({
    prepare: async () => {},
    comeBack: (node) => node.restart(),
    mend: async () => {},
  }),
  /** A power failure: the end of the append-only file never reached the disk. */
  tail: () => {
    let keptBytes = 0;
    return {
      async prepare(node) {
        keptBytes = await whileFree(node, async () => node.appendedBytes());
      },
      async comeBack(node) {
        const hadBytes = node.appendedBytes();
        node.cutAppended(keptBytes);
        await node.restart();
        return { hadBytes, keptBytes };
      },
      mend: async () => {},
    };
  },
  /** A replica that missed the last writes takes over the master's address. */
  stale: () => {
    let replica: RedisNode | null = null;
    return {
      async prepare(node) {
        const following = await startRedis();
        replica = following;
        // Repeat until the replica, too, had no locks when it stopped following: it may be some changes behind.
        for (let tries = 1; tries === 1 || (await locksAt(following)) > 0; tries++) {
          if (tries > 100) throw new Error(`redis.forget: ${node.address} was never free of locks`);
          await following.command("REPLICAOF", node.host, node.port);
          await eventually(async () => (await following.role()).link === "connected", {
            what: "the replica to follow",
          });
          // The replica misses everything from here on.
          await whileFree(node, () => following.command("REPLICAOF", "NO", "ONE"));
        }
      },
      async comeBack(node) {
        await replica?.command("CONFIG", "SET", "port", node.port);
        return { replicaPid: replica?.pid };
      },
      async mend(node) {
        await replica?.stop();
        if (!node.running) await node.restart();
      },
    };
  },
};

const settleMs = 50;
const freeWithinMs = 20_000;

async function locksAt(node: RedisNode): Promise<number> {
  return [await node.command("KEYS", "chaos-*")].flat().length;
}

/**
 * Runs `act` at a moment at which the server has no lock. Otherwise the state to which the server goes back would
 * contain another holder, which would keep all others out until its lease is over.
 */
async function whileFree<T>(node: RedisNode, act: () => Promise<T>): Promise<T> {
  using connection = await node.connect();
  const held = async (): Promise<string> => {
    const locks = [await connection.command("KEYS", "chaos-*")].flat().length;
    const info = String(await connection.command("INFO", "persistence"));
    return `${locks} at change ${/rdb_changes_since_last_save:(\d+)/.exec(info)?.[1]}`;
  };
  const endMs = performance.now() + freeWithinMs;
  for (;;) {
    const before = await held();
    if (before.startsWith("0 ")) {
      const done = await act();
      if ((await held()) === before) return done;
    }
    if (performance.now() > endMs) throw new Error(`redis.forget: ${node.address} was never free of locks`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/**
 * Cuts off a holder of the group `options.group` at the key `options.key` from all servers. Then the target, a server
 * on which this holder counts, is killed, and comes back as `options.how` says: `restart` (with the data that its
 * persistence kept), `tail` or `stale`. With `options.afterMs` it comes back so much later. Healing connects the holder
 * again.
 */
const forget: FaultKind = {
  async begin(context) {
    const { server, node } = await targetNode(context);
    const { how = "restart", afterMs = 0 } = context.planned.options ?? {};
    const relapse = relapses[String(how)]?.();
    if (relapse === undefined) throw new RangeError(`redis.forget knows no ${how}`);
    const roles = await rolesOf(context.set);
    try {
      // A lock that a holder left at masters which it no longer reaches would keep the others out until its lease is over.
      const others = redisOf(context.set).nodes.filter((each) => each !== node);
      await Promise.all(others.map((each) => whileFree(each, async () => {})));
      await relapse.prepare(node);
      const { hold, worker } = await lonelyHolder(context, server.name);
      const runId = await node.runId();
      await node.kill();
      await new Promise((resolve) => setTimeout(resolve, Number(afterMs)));
      const more = await relapse.comeBack(node);
      const evidence = { servers: [server.name], roles, how, hold: hold.id, runId, ...Object(more) };
      return {
        target: server.name,
        evidence,
        async heal() {
          await worker.link.setMode("ok");
          await relapse.mend(node);
          return { kept: Number(await node.command("DBSIZE")) };
        },
      };
    } catch (error) {
      await relapse.mend(node);
      throw error;
    }
  },
};

/** Finds a worker that is granted the lock after this call, and cuts it off from all servers. */
async function lonelyHolder(
  context: FaultContext,
  target: string,
): Promise<{ hold: LiveHold; worker: Worker }> {
  const { crew, planned, signal, tally } = context;
  const { key = "k1", group = "" } = planned.options ?? {};
  const fits = ofGroup(context);
  const known = new Set(tally.holders(String(key)).map(({ id }) => id));
  for (let tries = 1; tries <= 20; tries++) {
    const found = () => tally.holders(String(key)).find((hold) => !known.has(hold.id) && fits(hold));
    await tally.until(() => found() !== undefined, { signal });
    const hold = found();
    const worker = hold === undefined ? undefined : crew.worker(hold.p);
    if (hold === undefined || worker === undefined) break;
    known.add(hold.id);
    context.begins(target, () => worker.link.setMode("ok"));
    await worker.link.setMode("hole");
    // By then everything has arrived that was under way before.
    await new Promise((resolve) => setTimeout(resolve, settleMs));
    if (!tally.givenBack(hold.id)) return { hold, worker };
    await worker.link.setMode("ok");
    context.missed(target, { missed: hold.id });
  }
  throw new Error(`no worker of the group ${group} held ${key}`);
}

export const redisForgetting: Readonly<Record<string, FaultKind>> = { "redis.forget": forget };
