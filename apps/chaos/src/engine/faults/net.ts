import { eventually } from "@holdfast/test-servers";
import { alone, bridge, type Cut, ring, split } from "../network/cuts.js";
import type { NetworkSwitch } from "../network/switch.js";
import { placementOf, placeOf } from "../topologies/placement.js";
import { rolesOf, type ServerSet } from "../topologies/server-set.js";
import type { FaultContext, FaultKind, OngoingFault } from "./fault.js";
import { targets } from "./server.js";

/** Servers send packets all the time, so a cut that drops none for this long cuts nothing. */
const droppedWithinMs = 10_000;
const electedWithinMs = 60_000;

export function switchOf(set: ServerSet): NetworkSwitch {
  const { network } = placementOf(set);
  if (network === undefined) throw new Error(`${set.topology.kind}: its servers share one network`);
  return network;
}

/**
 * Makes cuts or losses, which count as on when they have dropped packets. If that fails, the function that the caller
 * gave to `begins` takes them back.
 */
export async function cutApart(
  context: FaultContext,
  target: string,
  servers: readonly string[],
  roles: Readonly<Record<string, string>>,
  act: () => Promise<void>,
): Promise<OngoingFault> {
  const network = switchOf(context.set);
  const count = async (): Promise<number> => (await network.dropped()).reduce((sum, each) => sum + each, 0);
  const before = await count();
  await act();
  const dropped = (await eventually(async () => (await count()) - before, {
    what: `${context.planned.fault} to drop a packet`,
    withinMs: droppedWithinMs,
    everyMs: 10,
    signal: context.signal,
  })) as number;
  const cuts = network.cuts.map(([from, to]) => `${from}>${to}`);
  return {
    target,
    evidence: { servers, roles, cuts, dropped },
    heal: async () => {
      const all = (await count()) - before;
      await network.heal();
      return { dropped: all, electedAfterMs: await elected(context.set) };
    },
  };
}

/**
 * Members of an ensemble that were cut apart elect a leader anew. This has taken twelve seconds on a busy machine after
 * packets had passed in one direction only. Until then no client can be granted anything, so the fault is over only
 * when it is over for clients.
 */
async function elected(set: ServerSet): Promise<number> {
  const beganMs = performance.now();
  if (set.topology.kind === "zookeeper") {
    await eventually(
      async () => {
        const roles = Object.values(await rolesOf(set)).sort();
        return roles.filter((role) => role === "leader").length === 1 && !roles.includes("silent");
      },
      { what: "the members to be one ensemble again", withinMs: electedWithinMs, everyMs: 50 },
    );
  }
  return Math.round(performance.now() - beganMs);
}

type Shape = (context: FaultContext, at: number, nodes: number) => Cut[];

/** Cuts a server that is given by its role or name. The shape says with which others it stays connected. */
function shaped(shape: Shape): FaultKind {
  return {
    async begin(context) {
      const { servers, roles } = await targets(context);
      const [server] = servers;
      if (server === undefined) throw new Error(`${context.planned.fault}: there is no server`);
      const network = switchOf(context.set);
      const cuts = shape(context, placeOf(context.set, server.name), network.nodes);
      context.begins(server.name, () => network.heal());
      return await cutApart(context, server.name, [server.name], roles, () => network.cut(cuts));
    },
  };
}

/** A fault that hits all servers. */
function everywhere(act: (context: FaultContext, network: NetworkSwitch) => Promise<void>): FaultKind {
  return {
    async begin(context) {
      const servers = context.set.servers.map(({ name }) => name);
      const roles = await rolesOf(context.set);
      const network = switchOf(context.set);
      context.begins("all", () => network.heal());
      return await cutApart(context, "all", servers, roles, () => act(context, network));
    },
  };
}

function shuffled(context: FaultContext, nodes: number): number[] {
  const order = Array.from({ length: nodes }, (_, at) => at);
  for (let at = nodes - 1; at > 0; at--) {
    const other = context.random.between(0, at);
    [order[at], order[other]] = [order[other] as number, order[at] as number];
  }
  return order;
}

/**
 * Cuts between servers that have addresses of their own. Target: a server by role or name, or `all`.
 * - `net.cut`: off from all other servers; clients still reach it. Option `way`: `both` (default), `in` (it receives
 *   nothing from other servers), `out`.
 * - `net.isolate`: off from clients too.
 * - `net.bridge`: the others receive nothing from each other; both are connected with this one.
 * - `net.ring`: in an order drawn from the seed, each server receives only from the one before it.
 * - `net.halves`: less than half of the servers, drawn from the seed, are cut off from the rest.
 * - `net.lose`: loses the share `share` (an option, default 0.3) of all packets of servers, in each direction.
 */
export const netFaults: Readonly<Record<string, FaultKind>> = {
  "net.cut": shaped(({ planned }, at, nodes) => {
    const way = String(planned.options?.way ?? "both");
    const both = alone(at, nodes);
    if (way === "both") return both;
    return both.filter(([from]) => (from === at) === (way === "out"));
  }),
  "net.isolate": shaped((_, at, nodes) => alone(at, nodes, true)),
  "net.bridge": shaped((_, at, nodes) => bridge(at, nodes)),
  "net.ring": everywhere((context, network) => network.cut(ring(shuffled(context, network.nodes)))),
  "net.halves": everywhere((context, network) => {
    const order = shuffled(context, network.nodes);
    const few = Math.floor((order.length - 1) / 2);
    return network.cut(split(order.slice(0, few), order.slice(few)));
  }),
  "net.lose": everywhere((context, network) => network.lose(Number(context.planned.options?.share ?? 0.3))),
};
