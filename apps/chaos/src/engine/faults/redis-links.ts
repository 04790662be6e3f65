import { eventually, type ProxyMode, RedisProxy, type RespRule, type TcpProxy } from "@holdfast/test-servers";
import type { Worker } from "../crew.js";
import { aim } from "./aim.js";
import { type FaultContext, type FaultKind, soonBack } from "./fault.js";
import { cutOf } from "./link.js";

/** How long a worker whose subscriptions receive nothing may take to miss a message. */
const lostWithinMs = 15_000;

async function workerOf(context: FaultContext): Promise<Worker> {
  const aimed = await aim(context);
  if (aimed === null) throw new Error(`${context.planned.fault}: there was no ${context.planned.target}`);
  if (aimed.worker.link.proxies.length === 0) {
    throw new Error(`${aimed.worker.name} has no proxies: its group must be proxied`);
  }
  return aimed.worker;
}

/** The proxies of a worker that lead to the named servers: `redis4,redis5`, or all servers of a kind: `sentinel`. */
function waysTo(context: FaultContext, worker: Worker, names: string): { server: string; proxy: TcpProxy }[] {
  const wanted = names.split(",");
  const ways = context.set.servers.flatMap(({ name }, at) => {
    const proxy = worker.link.proxies[at];
    const meant = wanted.some((each) => name === each || name.replace(/\d+$/, "") === each);
    return proxy !== undefined && meant ? [{ server: name, proxy }] : [];
  });
  if (ways.length === 0) throw new RangeError(`${context.planned.fault}: no way leads to ${names}`);
  return ways;
}

/**
 * A worker reaches all servers except those of `options.servers`. `options.mode` is the mode of the proxies to these;
 * default `reset`. The fault has happened if a connection to one of them was open or was tried meanwhile.
 */
const unreach: FaultKind = {
  async begin(context) {
    const worker = await workerOf(context);
    const { servers = "", mode: given = "reset" } = context.planned.options ?? {};
    const mode = String(given) as ProxyMode;
    const ways = waysTo(context, worker, String(servers));
    const proxies = ways.map(({ proxy }) => proxy);
    const cut = cutOf(proxies, mode);
    const evidence = { p: worker.p, unreached: ways.map(({ server }) => server), mode };
    context.begins(worker.name);
    await Promise.all(proxies.map((proxy) => proxy.setMode(mode)));
    return {
      target: worker.name,
      evidence: cut.met() ? evidence : null,
      async heal() {
        const met = cut.met();
        await Promise.all(proxies.map((proxy) => proxy.setMode("ok")));
        return met ? evidence : undefined;
      },
    };
  },
};

/**
 * Loses the answers of servers to scripts, and the connection with each, `options.times` times. The server has executed
 * the script, and the worker does not know it. Scripts are not distinguished: while the worker holds, renewals are
 * among them.
 */
const loseReplies: FaultKind = {
  async begin(context) {
    const worker = await workerOf(context);
    const times = Number(context.planned.options?.times ?? 1);
    const rules: RespRule[] = [];
    context.begins(worker.name);
    for (const proxy of redisProxies(worker)) {
      rules.push(proxy.dropReply({ name: ["EVALSHA", "EVAL"], times, after: "reset" }));
    }
    const lost = (): number => rules.reduce((sum, rule) => sum + rule.hits.length, 0);
    return {
      target: worker.name,
      evidence: { p: worker.p, times },
      async heal() {
        const answers = lost();
        for (const rule of rules) rule.release();
        if (answers === 0) throw new Error("no answer was lost");
        return { answers };
      },
    };
  },
};

/**
 * The subscriptions of a worker receive nothing any more, and nothing shows it: their connections stay open.
 * Subscriptions that the worker makes meanwhile receive nothing either. The fault has happened when a message was lost;
 * with `options.quiet` also if none came. `options.how`: `hole` (default), or `reset`, which ends the connections and
 * is over at once.
 */
const deafen: FaultKind = {
  async begin(context) {
    const worker = await workerOf(context);
    const { how: given = "hole", quiet } = context.planned.options ?? {};
    const how = String(given);
    const listening = (): { proxy: RedisProxy; connection: number }[] =>
      redisProxies(worker).flatMap((proxy) => {
        const open = new Set(proxy.connections);
        return [...subscriptionsOf(proxy)]
          .filter((connection) => open.has(connection))
          .map((connection) => ({ proxy, connection }));
      });
    await soonBack(context, () => listening().length > 0, `${worker.name} has no subscription`);
    const subscribed = listening();
    const about = { p: worker.p, how, subscriptions: subscribed.length };
    let rules: RespRule[] = [];
    const missed = (): number => rules.reduce((sum, { hits }) => sum + hits.length, 0);
    const heal = async (): Promise<unknown> => {
      for (const rule of rules) rule.release();
      return { missed: missed() };
    };
    context.begins(worker.name, heal);
    if (how === "reset") {
      for (const { proxy, connection } of subscribed) proxy.endConnection(connection, { reset: true });
      return { target: worker.name, evidence: about };
    }
    rules = redisProxies(worker).map((proxy) =>
      proxy.dropMessages({ name: ["message", "smessage"], after: "silence" }),
    );
    const lost = (): boolean => quiet === true || missed() > 0;
    await eventually(lost, {
      what: `a message to ${worker.name} to be lost`,
      withinMs: lostWithinMs,
      everyMs: 10,
      signal: context.signal,
    });
    return { target: worker.name, evidence: { ...about, missed: missed() }, heal };
  },
};

function redisProxies(worker: Worker): RedisProxy[] {
  return worker.link.proxies.filter((proxy) => proxy instanceof RedisProxy);
}

/** The connections on which a client has subscribed, including connections that have ended. */
function subscriptionsOf(proxy: RedisProxy): Set<number> {
  const found = new Set<number>();
  for (const entry of proxy.trace) {
    if (entry.kind === "command" && /^S?SUBSCRIBE$/i.test(entry.name)) found.add(entry.connection);
  }
  return found;
}

export const redisLinkFaults: Readonly<Record<string, FaultKind>> = {
  "redis.unreach": unreach,
  "redis.lose-replies": loseReplies,
  "redis.deafen": deafen,
};
