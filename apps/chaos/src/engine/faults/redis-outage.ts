import { findServers, rolesOf } from "../topologies/server-set.js";
import type { FaultKind } from "./fault.js";

const patienceMs = 30_000;

/**
 * Takes several servers away until each of the keys `options.keys` was granted `options.grants` times without them.
 * Target: the names of the servers. `options.how`: `kill` or `pause`.
 */
const outage: FaultKind = {
  async begin({ planned, set, tally, signal, begins }) {
    const { how = "kill", keys = "k1", grants = 10 } = planned.options ?? {};
    const names = (planned.target ?? "").split(",");
    const servers = (await Promise.all(names.map((name) => findServers(set, name)))).flat();
    const roles = await rolesOf(set);
    const watched = String(keys).split(",");
    const target = servers.map(({ name }) => name).join(",");
    begins(target);
    await Promise.all(servers.map((server) => (how === "kill" ? server.kill() : server.pause())));
    const before = watched.map((key) => tally.of(key).grants);
    const since = () => watched.map((key, at) => tally.of(key).grants - (before[at] ?? 0));
    const beganMs = performance.now();
    const went = await tally.until(() => since().every((count) => count >= Number(grants)), {
      signal,
      withinMs: patienceMs,
    });
    const tookMs = Math.round(performance.now() - beganMs);
    const back = async (): Promise<void> => {
      await Promise.all(servers.map(async (server) => (how === "kill" ? server.restart() : server.resume())));
    };
    await back();
    if (!went)
      throw new Error(`without ${target} there were ${since().join(" and ")} grants in ${tookMs} ms`);
    return {
      target,
      evidence: { servers: servers.map(({ name }) => name), roles, how, grants: since(), tookMs },
    };
  },
};

export const redisOutages: Readonly<Record<string, FaultKind>> = { "redis.outage": outage };
