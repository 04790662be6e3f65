import { type ProxyMode, RedisProxy, type RespRule, type TcpProxy } from "@holdfast/test-servers";
import type { Worker } from "../crew.js";
import { aim } from "./aim.js";
import type { FaultContext, FaultKind } from "./fault.js";

async function workerOf(context: FaultContext): Promise<Worker> {
  const aimed = await aim(context);
  if (aimed === null) throw new Error(`${context.planned.fault}: there was no ${context.planned.target}`);
  if (aimed.worker.link.proxies.length === 0) {
    throw new Error(`${aimed.worker.name} has no proxies: its group must be proxied`);
  }
  return aimed.worker;
}

/** Those of a worker's ways that lead to the named servers: `redis4,redis5`, or all of a sort: `sentinel`. */
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

/** A worker reaches all servers but those of `options.servers`. `options.mode`: how its ways to them are; default `reset`. */
const unreach: FaultKind = {
  async begin(context) {
    const worker = await workerOf(context);
    const { servers = "", mode = "reset" } = context.planned.options ?? {};
    const ways = waysTo(context, worker, String(servers));
    context.begins(worker.name);
    await Promise.all(ways.map(({ proxy }) => proxy.setMode(String(mode) as ProxyMode)));
    return {
      target: worker.name,
      evidence: { p: worker.p, unreached: ways.map(({ server }) => server), mode },
      async heal() {
        await Promise.all(ways.map(({ proxy }) => proxy.setMode("ok")));
        return undefined;
      },
    };
  },
};

/**
 * Loses what servers answer to scripts, and the connection with it, so often that `options.times` is reached: the server has
 * acted, and the worker does not know. What it asks is not distinguished: renewals are among it while it holds.
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
 * The subscriptions of a worker hear nothing any more, and nothing tells them: their connections stay. `options.how`: `hole`
 * (default) or `reset`, which ends them.
 */
const deafen: FaultKind = {
  async begin(context) {
    const worker = await workerOf(context);
    const how = String(context.planned.options?.how ?? "hole");
    const proxies = redisProxies(worker);
    const subscribed = proxies.flatMap((proxy) =>
      [...subscriptionsOf(proxy)].map((connection) => ({ proxy, connection })),
    );
    if (subscribed.length === 0) throw new Error(`${worker.name} has no subscription`);
    context.begins(worker.name);
    const rules = subscribed.map(({ proxy, connection }) => {
      if (how === "reset") proxy.endConnection(connection, { reset: true });
      return how === "reset" ? null : proxy.dropMessages({ connection, after: "silence" });
    });
    return {
      target: worker.name,
      evidence: { p: worker.p, how, subscriptions: subscribed.length },
      async heal() {
        const missed = rules.reduce((sum, rule) => sum + (rule?.hits.length ?? 0), 0);
        for (const rule of rules) rule?.release();
        return { missed };
      },
    };
  },
};

function redisProxies(worker: Worker): RedisProxy[] {
  return worker.link.proxies.filter((proxy) => proxy instanceof RedisProxy);
}

/** Connections over which a client has subscribed; those that have ended do no harm. */
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
