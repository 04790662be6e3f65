import type { Fault } from "../../history/history.js";
import type { ServerLane } from "./data.js";

type State = ServerLane["stretches"][number]["state"];

/** The state of a server during a fault, by the last word of the fault's name. The first pattern that fits counts. */
const states: readonly (readonly [RegExp, State])[] = [
  [/session-kill|kill-clients|flush|forget/, "troubled"],
  [/pause|stop|freeze/, "paused"],
  [/kill|restart|down|crash|empty|stale|truncate/, "down"],
  [/cut|isolate|bridge|ring|halves|lose|hole|stall|refuse|reset|unreach|deafen/, "cut off"],
];

interface Named {
  readonly servers: readonly string[];
  readonly roles: Readonly<Record<string, string>>;
}

/**
 * Makes the lanes of servers from the records of the nemesis: `evidence.servers` names the servers that a fault
 * touched, and `evidence.roles` their roles before it. A fault of workers makes no lane.
 */
export function serverLanes(faults: readonly Fault[], endedAt: number): ServerLane[] {
  const lanes = new Map<string, { stretches: ServerLane["stretches"][number][]; roles: Role[] }>();
  const laneOf = (name: string) => {
    const lane = lanes.get(name) ?? { stretches: [], roles: [] };
    lanes.set(name, lane);
    return lane;
  };
  faults.forEach((fault, at) => {
    // What was found at the beginning is often recorded only at the end, when there was time for it.
    const [begin, end] = [named(fault.begin.evidence), named(fault.end?.evidence)];
    for (const [name, role] of Object.entries({ ...begin.roles, ...end.roles }))
      laneOf(name).roles.push({ atUs: Math.round(fault.from / 1e3), role });
    const state = stateOf(fault.name);
    for (const name of new Set([...begin.servers, ...end.servers])) {
      laneOf(name).stretches.push({
        fromUs: Math.round(fault.from / 1e3),
        toUs: Math.round(Math.min(fault.to, endedAt) / 1e3),
        state,
        fault: at,
      });
    }
  });
  return [...lanes]
    .sort(([a], [b]) => a.localeCompare(b, "en", { numeric: true }))
    .map(([name, { stretches, roles }]) => ({
      name,
      stretches,
      roles: changes(roles),
    }));
}

interface Role {
  readonly atUs: number;
  readonly role: string;
}

/** The roles in the order of time, without those that repeat the role before. */
function changes(roles: Role[]): Role[] {
  roles.sort((a, b) => a.atUs - b.atUs);
  return roles.filter(({ role }, at) => role !== roles[at - 1]?.role);
}

function stateOf(fault: string): State {
  const word = fault.slice(fault.indexOf(".") + 1);
  return states.find(([pattern]) => pattern.test(word))?.[1] ?? "troubled";
}

/** Evidence has no fixed form. Evidence that does not name servers in the agreed fields is shown raw and makes no lane. */
function named(evidence: unknown): Named {
  const { servers, server, roles, role } = (
    typeof evidence === "object" && evidence !== null ? evidence : {}
  ) as Record<string, unknown>;
  const names = Array.isArray(servers)
    ? servers.filter((name): name is string => typeof name === "string")
    : typeof server === "string"
      ? [server]
      : [];
  const known =
    typeof roles === "object" && roles !== null
      ? Object.fromEntries(Object.entries(roles).filter(([, value]) => typeof value === "string"))
      : typeof role === "string" && typeof server === "string"
        ? { [server]: role }
        : {};
  return { servers: names, roles: known as Record<string, string> };
}
