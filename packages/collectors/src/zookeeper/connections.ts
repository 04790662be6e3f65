import type { Millis } from "@holdfast/core";
import { addressText } from "@holdfast/core/internal";
import { formatSessionId } from "@holdfast/zk-protocol";
import type { ServerAddress, ZooKeeperSession } from "@holdfast/zk-recipes/internal";
import { askAdmin } from "./admin-server.js";
import { askWord } from "./four-letter.js";
import type { Settings } from "./options.js";
import { readText } from "./read-text.js";

/** A session, as the server that it is connected to reports it. */
export interface ServerConnection {
  readonly session: string;
  readonly server: string;
  readonly address: string;
  readonly timeoutMs: Millis | null;
  /** Epoch ms by that server's clock. */
  readonly establishedMs: number | null;
  /**
   * The time of the last response, by the server's own monotonic clock. Only differences between times of one server have a
   * meaning.
   */
  readonly lastResponse: number | null;
}

export interface Connections {
  readonly connections: readonly ServerConnection[];
  /** Servers of `connect` that do not list their connections, and why. */
  readonly silent: readonly { readonly server: string; readonly why: string }[];
  /** Servers whose AdminServer answers every client. */
  readonly openAdmins: readonly string[];
}

export const askWithinMs: Millis = 3_000;

export async function readConnections(settings: Settings): Promise<Connections> {
  const answers = await Promise.all(
    settings.connect.servers.map((server) => connectionsOf(server, settings)),
  );
  return {
    connections: answers.flatMap(({ connections }) => connections ?? []),
    silent: answers.flatMap(({ server, why }) => (why === null ? [] : [{ server, why }])),
    openAdmins: answers.flatMap(({ server, byAdmin }) => (byAdmin ? [server] : [])),
  };
}

/**
 * The number of servers that the ensemble's own list has beyond those of `connect`; `null` when the list cannot be read now.
 * Servers before 3.5 keep no such list.
 */
export async function unnamedServers(settings: Settings, session: ZooKeeperSession): Promise<number | null> {
  if (session.state !== "connected") return null;
  const list = await readText(session, "/zookeeper/config").then(
    (text) => text ?? "",
    () => null,
  );
  if (list === null) return null;
  const members = list.match(/^server\.\d+=/gm)?.length ?? 0;
  return Math.max(0, members - settings.connect.servers.length);
}

/** The sessions with the ephemeral nodes of each, from the first server that answers; `null` when none answers. */
export async function readEphemerals(settings: Settings): Promise<Map<string, readonly string[]> | null> {
  for (const server of settings.connect.servers) {
    if (settings.adminPort !== false) {
      const answer = await askAdmin(server.host, settings.adminPort, "dump", 2 * askWithinMs);
      const owners = "told" in answer ? answer.told.session_id_to_ephemeral_paths : null;
      if (typeof owners === "object" && owners !== null) return ownersOf(owners as Record<string, string[]>);
    }
    const answer = await askWord("dump", server, settings.tls, 2 * askWithinMs);
    if ("text" in answer) return parseDump(answer.text);
  }
  return null;
}

interface ConnectionsOfOne {
  readonly server: string;
  readonly byAdmin: boolean;
  readonly connections: readonly ServerConnection[] | null;
  /** Why the server does not list its connections; `null` when it does. */
  readonly why: string | null;
}

async function connectionsOf(address: ServerAddress, settings: Settings): Promise<ConnectionsOfOne> {
  const server = addressText(address);
  let byAdmin = false;
  let noAdmin = "its AdminServer is not asked";
  if (settings.adminPort !== false) {
    const answer = await askAdmin(address.host, settings.adminPort, "connections", askWithinMs);
    if ("told" in answer) {
      const list = [answer.told.connections, answer.told.secure_connections].flat();
      const connections = list.flatMap((one) => adminOne(server, one));
      return { server, byAdmin: true, connections, why: null };
    }
    byAdmin = answer.failure === "refused";
    noAdmin = answer.why;
  }
  const answer = await askWord("cons", address, settings.tls, askWithinMs);
  return "text" in answer
    ? { server, byAdmin, connections: parseCons(server, answer.text), why: null }
    : { server, byAdmin, connections: null, why: `${noAdmin}; ${answer.why}` };
}

function adminOne(server: string, one: unknown): ServerConnection[] {
  if (typeof one !== "object" || one === null) return [];
  const told = one as Record<string, unknown>;
  if (typeof told.session_id !== "string" || told.session_id === "0") return [];
  const established = told.established;
  const establishedMs =
    typeof established === "number" || typeof established === "string"
      ? new Date(established).getTime()
      : Number.NaN;
  return [
    {
      session: formatSessionId(BigInt(told.session_id)),
      server,
      address: String(told.remote_socket_address ?? "").replace(/^\//, ""),
      timeoutMs: typeof told.session_timeout === "number" ? told.session_timeout : null,
      establishedMs: Number.isNaN(establishedMs) ? null : establishedMs,
      lastResponse: typeof told.last_response_time === "number" ? told.last_response_time : null,
    },
  ];
}

/** Lines such as ` /127.0.0.1:5000[1](queued=0,sid=0x1,est=1700000000000,to=10000,lresp=12,...)`. */
export function parseCons(server: string, text: string): ServerConnection[] {
  return text.split("\n").flatMap((line): ServerConnection[] => {
    const match = /^\s*\/(.+?)\[\d+\]\((.*)\)\s*$/.exec(line);
    if (match === null) return [];
    const fields = new Map(
      (match[2] as string).split(",").map((pair) => pair.split("=") as [string, string]),
    );
    const sid = fields.get("sid");
    if (sid === undefined || !/^0x[0-9a-f]+$/.test(sid)) return [];
    const number = (name: string): number | null => {
      const value = fields.get(name);
      return value !== undefined && /^\d+$/.test(value) ? Number(value) : null;
    };
    return [
      {
        session: formatSessionId(BigInt(sid)),
        server,
        address: match[1] as string,
        timeoutMs: number("to"),
        establishedMs: number("est"),
        lastResponse: number("lresp"),
      },
    ];
  });
}

export function parseDump(text: string): Map<string, readonly string[]> {
  const owners = new Map<string, string[]>();
  let paths: string[] | null = null;
  for (const line of text.split("\n")) {
    const session = /^(0x[0-9a-f]+):\s*$/.exec(line)?.[1];
    if (session !== undefined) {
      paths = [];
      owners.set(formatSessionId(BigInt(session)), paths);
    } else if (line.startsWith("\t/")) paths?.push(line.slice(1).trimEnd());
    else paths = null;
  }
  return owners;
}

function ownersOf(told: Readonly<Record<string, readonly string[]>>): Map<string, readonly string[]> {
  return new Map(
    Object.entries(told).flatMap(([session, paths]) =>
      /^-?\d+$/.test(session)
        ? [[formatSessionId(BigInt(session)), paths]]
        : /^0x[0-9a-f]+$/.test(session)
          ? [[formatSessionId(BigInt(session)), paths]]
          : [],
    ),
  );
}
