import { findServers, rolesOf, type Server } from "../topologies/server-set.js";
import type { FaultContext, FaultKind, OngoingFault } from "./fault.js";

/**
 * Faults of server processes, for one backend: `<prefix>.kill`, `.pause`, `.restart`. The target is a role, a name, or
 * `all`. If several servers have the role, the first is taken; `all` takes all servers. Healing starts a killed server
 * again and resumes a paused one.
 */
export function serverFaults(prefix: string): Record<string, FaultKind> {
  return {
    [`${prefix}.kill`]: kind(
      (server) => server.kill(),
      (server) => server.restart(),
    ),
    [`${prefix}.pause`]: kind(
      (server) => server.pause(),
      async (server) => server.resume(),
    ),
    [`${prefix}.restart`]: kind((server) => server.restart()),
  };
}

/** The servers that a fault of this plan hits, and the role that each server had before it. */
export async function targets(
  context: FaultContext,
): Promise<{ servers: Server[]; roles: Record<string, string> }> {
  const role = context.planned.target ?? "all";
  const found = await findServers(context.set, role);
  const roles = await rolesOf(context.set);
  return { servers: role === "all" ? found : found.slice(0, 1), roles };
}

function kind(act: (server: Server) => Promise<void>, undo?: (server: Server) => Promise<void>): FaultKind {
  return {
    async begin(context: FaultContext): Promise<OngoingFault> {
      const { servers, roles } = await targets(context);
      const target = servers.map(({ name }) => name).join(",");
      const before = Object.fromEntries(servers.map((server) => [server.name, server.evidence()]));
      const heal =
        undo === undefined
          ? undefined
          : async () => {
              await Promise.all(servers.map(undo));
              return { after: Object.fromEntries(servers.map((server) => [server.name, server.evidence()])) };
            };
      context.begins(target, heal);
      // If one action fails, all are taken back, so wait first until every action is done.
      const done = await Promise.allSettled(servers.map(act));
      for (const each of done) if (each.status === "rejected") throw each.reason;
      const evidence = { servers: servers.map(({ name }) => name), roles, before };
      return { target, evidence, ...(heal && { heal }) };
    },
  };
}
