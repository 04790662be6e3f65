import { addressText } from "@holdfast/core/internal";
import type { ServerAddress } from "@holdfast/zk-recipes/internal";
import type { ObservedServer } from "../observe/collector.js";
import { type AdminAnswer, askAdmin } from "./admin-server.js";
import { askWithinMs } from "./connections.js";
import { askWord, fieldsOf } from "./four-letter.js";
import { highest } from "./highest.js";
import type { Settings } from "./options.js";

const roles = new Set(["leader", "follower", "observer", "standalone"]);

export interface ServersRead {
  readonly servers: readonly ObservedServer[];
  readonly openAdmins: readonly string[];
}

/** Each server of the connect string, as it describes itself. Never rejects. */
export async function readServers(settings: Settings): Promise<ServersRead> {
  const read = await Promise.all(settings.connect.servers.map((server) => readServer(server, settings)));
  const zxids = read.flatMap(({ zxid }) => (zxid === null ? [] : [zxid]));
  const newest = highest(zxids);
  return {
    servers: read.map(({ server, zxid }) =>
      zxid === null || read.length === 1
        ? server
        : { ...server, facts: [...server.facts, behind(newest, zxid)] },
    ),
    openAdmins: read.flatMap(({ server, openAdmin }) => (openAdmin ? [server.name] : [])),
  };
}

interface ServerRead {
  readonly server: ObservedServer;
  readonly zxid: bigint | null;
  readonly openAdmin: boolean;
}

async function readServer(address: ServerAddress, settings: Settings): Promise<ServerRead> {
  const ask = (word: string) => askWord(word, address, settings.tls, askWithinMs);
  const { adminPort } = settings;
  const askServer = async (command: "monitor" | "server_stats"): Promise<AdminAnswer | null> =>
    adminPort === false ? null : askAdmin(address.host, adminPort, command, askWithinMs);
  const [srvr, mntr, admin] = await Promise.all([ask("srvr"), ask("mntr"), askServer("server_stats")]);
  const answers = admin !== null && (!("failure" in admin) || admin.failure === "refused");
  const { server_stats, node_count, version } = toldBy(admin);
  const stats = (server_stats ?? {}) as Record<string, unknown>;
  const words = "text" in srvr ? fieldsOf(srvr.text) : new Map<string, string>();
  // The AdminServer's counterpart of mntr, with the same names. Like mntr, it makes a large server count for a while.
  const more =
    "text" in mntr ? fieldsOf(mntr.text) : monitored(answers ? toldBy(await askServer("monitor")) : {});
  const told = (word: string, monitor: string, stat: string): string | undefined =>
    words.get(word) ?? more.get(`zk_${monitor}`) ?? textOf(stats[stat]);
  const mode = told("Mode", "server_state", "server_state") ?? "";
  const serves = mode !== "";
  const zxid = zxidOf(words.get("Zxid") ?? textOf(stats.last_processed_zxid));
  const latency = words.get("Latency min/avg/max") ?? latencyOf(stats);
  const facts: [string, string | undefined, boolean?][] = [
    ["zxid", zxid === null ? undefined : `0x${zxid.toString(16)}`],
    ["latency min/avg/max (ms)", latency],
    ["connections", told("Connections", "num_alive_connections", "num_alive_client_connections")],
    ["outstanding requests", told("Outstanding", "outstanding_requests", "outstanding_requests")],
    ["nodes", told("Node count", "znode_count", "node_count") ?? textOf(node_count)],
    ["watches", more.get("zk_watch_count")],
    ["ephemeral nodes", more.get("zk_ephemerals_count")],
    ["AdminServer", admin === null ? undefined : adminText(admin, adminPort), answers],
    ["not reported", serves ? undefined : refusalOf(srvr), true],
  ];
  const reachable = "text" in srvr || srvr.failure === "refused" || answers;
  return {
    server: {
      name: addressText(address),
      role: roles.has(mode) ? (mode as ObservedServer["role"]) : "unknown",
      reachable,
      version: versionOf(words.get("Zookeeper version") ?? more.get("zk_version") ?? textOf(version)),
      facts: facts.flatMap(([name, value, warning = false]) =>
        value === undefined ? [] : [{ name, value, warning }],
      ),
    },
    zxid,
    openAdmin: answers,
  };
}

function toldBy(answer: AdminAnswer | null): Readonly<Record<string, unknown>> {
  return answer !== null && "told" in answer ? answer.told : {};
}

function monitored(told: Readonly<Record<string, unknown>>): Map<string, string> {
  return new Map(Object.entries(told).map(([name, value]) => [`zk_${name}`, textOf(value) ?? ""]));
}

function adminText(answer: AdminAnswer, port: number | false): string {
  if ("told" in answer) return `open to everyone at port ${port}`;
  return answer.failure === "refused" ? `open to everyone: ${answer.why}` : answer.why;
}

function refusalOf(answer: Awaited<ReturnType<typeof askWord>>): string {
  return "failure" in answer ? answer.why : answer.text.trim().slice(0, 200);
}

function versionOf(text: string | undefined): string | null {
  return text === undefined ? null : (/^[\w.]+/.exec(text)?.[0] ?? text);
}

function zxidOf(text: string | undefined): bigint | null {
  return text !== undefined && /^(0x[0-9a-f]+|\d+)$/.test(text) ? BigInt(text) : null;
}

function latencyOf({ min_latency, avg_latency, max_latency }: Record<string, unknown>): string | undefined {
  return max_latency === undefined ? undefined : `${min_latency}/${avg_latency}/${max_latency}`;
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" || typeof value === "number" ? String(value) : undefined;
}

/**
 * How far a server is behind the newest one, within one epoch. The servers answered at different moments, so it is not
 * exact.
 */
function behind(newest: bigint, zxid: bigint): ObservedServer["facts"][number] {
  const sameEpoch = newest >> 32n === zxid >> 32n;
  const value = sameEpoch ? `${newest - zxid} transactions` : "of an older epoch";
  return { name: "behind the newest", value, warning: !sameEpoch || newest - zxid > 1_000n };
}
