import type { TcpProxy } from "@holdfast/test-servers";
import { alone } from "../network/cuts.js";
import { placeOf } from "../topologies/placement.js";
import { rolesOf } from "../topologies/server-set.js";
import type { FaultContext, FaultKind } from "./fault.js";
import { cutApart, switchOf } from "./net.js";
import { targets } from "./server.js";

/**
 * Cuts a server off from the other servers, with clients on both sides. The workers of the group in option `near` reach
 * only this server and the servers in its place. Those of the group in option `far` reach only the others. Both groups
 * must be proxied. Target: a server by role or name.
 */
const sides: FaultKind = {
  async begin(context) {
    const { servers, roles } = await targets(context);
    const [server] = servers;
    if (server === undefined) throw new Error("net.sides: there is no server");
    const network = switchOf(context.set);
    const at = placeOf(context.set, server.name);
    const beside = context.set.servers.map(({ name }) => placeOf(context.set, name) === at);
    const cut = [
      ...proxiesOf(context, "near").filter(({ number }) => beside[number] === false),
      ...proxiesOf(context, "far").filter(({ number }) => beside[number] === true),
    ];
    const set = async (mode: "hole" | "ok"): Promise<void> => {
      await Promise.all(cut.map(({ proxy }) => proxy.setMode(mode)));
    };
    context.begins(server.name, async () => {
      await network.heal();
      await set("ok");
    });
    await set("hole");
    const fault = await cutApart(context, server.name, [server.name], roles, () =>
      network.cut(alone(at, network.nodes)),
    );
    return {
      ...fault,
      heal: async () => {
        const rolesAtEnd = await rolesOf(context.set);
        const more = await fault.heal?.();
        await set("ok");
        return { ...Object(more), rolesAtEnd };
      },
    };
  },
};

/** The proxies of a group of workers: one for each server, in the order of the servers. */
function proxiesOf(
  { planned, crew, set }: FaultContext,
  option: "near" | "far",
): { proxy: TcpProxy; number: number }[] {
  const group = String(planned.options?.[option] ?? "");
  const links = crew.workers.filter((worker) => worker.group.name === group).map(({ link }) => link);
  if (links.length === 0 || links.some(({ proxies }) => proxies.length !== set.servers.length)) {
    throw new Error(`net.sides: the workers of group ${JSON.stringify(group)} must be there and proxied`);
  }
  return links.flatMap(({ proxies }) => proxies.map((proxy, number) => ({ proxy, number })));
}

export const sideFaults: Readonly<Record<string, FaultKind>> = { "net.sides": sides };
