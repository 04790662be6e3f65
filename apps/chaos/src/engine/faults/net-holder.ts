import { fourLetterWord, type TcpProxy } from "@holdfast/test-servers";
import { alone } from "../network/cuts.js";
import { placeOf } from "../topologies/placement.js";
import { findServers, rolesOf, type Server } from "../topologies/server-set.js";
import { type Aim, aim } from "./aim.js";
import type { FaultContext, FaultKind, OngoingFault } from "./fault.js";
import { cutApart, switchOf } from "./net.js";

const withinMs = 30_000;
const tryAgainMs = 20;

/**
 * Cuts the follower that has a holder's session off from the other members, in both directions. The holder still
 * reaches this follower, which answers what it can answer by itself.
 * With option `along` the holder is on the follower's side of the cut: it reaches no other server. Target:
 * `holder(k1)`, of a proxied group.
 * First all sessions are sent away from the leader. Then the next holder is taken, so that most of its hold is still to
 * come.
 */
const holderCut: FaultKind = {
  async begin(context) {
    const toLeader = await waysToLeader(context);
    const open = (): Promise<unknown> => Promise.all(toLeader.map((proxy) => proxy.setMode("ok")));
    try {
      await Promise.all(toLeader.map((proxy) => proxy.setMode("refuse")));
      for (const proxy of toLeader) proxy.resetAll();
      return await cutFollower(context, open);
    } catch (error) {
      await open();
      throw error;
    }
  },
};

/** Takes holders until one has its session at a follower. `open` lets sessions connect to the leader again. */
async function cutFollower(context: FaultContext, open: () => Promise<unknown>): Promise<OngoingFault> {
  const endMs = performance.now() + withinMs;
  const first = await aim(context);
  while (performance.now() < endMs && !context.signal.aborted) {
    const aimed = await aim(context);
    if (aimed === null) break;
    const server = aimed.of === first?.of ? undefined : await followerOf(context, aimed);
    if (server === undefined || !aimed.stands()) {
      await new Promise((resolve) => setTimeout(resolve, tryAgainMs));
      continue;
    }
    const roles = await rolesOf(context.set);
    const cuts = alone(placeOf(context.set, server.name), switchOf(context.set).nodes);
    const along = context.planned.options?.along === true ? othersOf(context, aimed, server) : [];
    const set = async (mode: "hole" | "ok"): Promise<void> => {
      await Promise.all(along.map((proxy) => proxy.setMode(mode)));
    };
    const undo = async (): Promise<void> => {
      await switchOf(context.set).heal(cuts);
      await set("ok");
    };
    context.begins(server.name, undo);
    await open();
    await set("hole");
    await switchOf(context.set).cut(cuts);
    if (aimed.stands()) {
      // The cut is already made; this waits for the first packet that is lost by it.
      const fault = await cutApart(context, server.name, [server.name], roles, async () => {});
      return {
        ...fault,
        evidence: { ...Object(fault.evidence), p: aimed.worker.p, of: aimed.of, along: along.length },
        heal: async () => {
          await set("ok");
          return await fault.heal?.();
        },
      };
    }
    await undo();
    context.missed(server.name, { missed: aimed.of });
  }
  throw new Error(`${context.planned.fault}: there was no ${context.planned.target} at a follower`);
}

async function waysToLeader({ set, crew }: FaultContext): Promise<TcpProxy[]> {
  const [leader] = await findServers(set, "leader");
  return crew.workers.flatMap(({ link }) => link.proxies.filter((_, at) => set.servers[at] === leader));
}

/** The proxies between the worker and all other servers. */
function othersOf(context: FaultContext, { worker }: Aim, server: Server): TcpProxy[] {
  return worker.link.proxies.filter((_, at) => context.set.servers[at] !== server);
}

/** The server to which a worker's session is connected, if that server is a follower. */
async function followerOf(context: FaultContext, { worker }: Aim): Promise<Server | undefined> {
  const session = worker.link.session();
  if (session === null) throw new Error(`no session of ${worker.name} was seen: its group must be proxied`);
  const { addresses, servers } = context.set;
  if (addresses.kind !== "zookeeper") throw new Error(`${context.planned.fault} needs ZooKeeper`);
  const word = `sid=0x${BigInt.asUintN(64, session.sessionId).toString(16)},`;
  for (const [at, address] of addresses.connect.split(",").entries()) {
    const [host = "", port] = address.split(":");
    const connections = await fourLetterWord("cons", { host, port: Number(port) });
    const server = servers[at];
    if (connections.includes(word) && (await server?.role()) === "follower") return server;
  }
  return undefined;
}

export const holderNetFaults: Readonly<Record<string, FaultKind>> = { "net.cut-holder": holderCut };
