import type { Millis } from "@holdfast/core";

export type ServerRole = "master" | "replica";

/** A server's time, and the two moments of our monotonic clock between which it was read. */
export interface ClockReading {
  /** The time by the server's clock, ms with fractions. */
  readonly serverMs: number;
  readonly sentMs: Millis;
  readonly answeredMs: Millis;
}

/** What is read from a server before anything else that it says is trusted. */
export interface ServerInfo {
  readonly runId: string;
  readonly role: ServerRole;
  /** Whether it is one node of a cluster, which serves only some of the names. */
  readonly clustered: boolean;
  /** Replicas that are connected and in step, according to the master. */
  readonly connectedReplicas: number;
  readonly loading: boolean;
  readonly version: string;
  /** `null` where the server does not report it. */
  readonly evictionPolicy: string | null;
  /** The server's time when it was asked; `null` where it does not report it. */
  readonly serverMs: number | null;
}

/** Parses the answers to INFO for any sections. `null` where the run id or the role is missing. */
export function parseServerInfo(...texts: readonly unknown[]): ServerInfo | null {
  const fields = fieldsOf(texts);
  const runId = fields.get("run_id");
  const role = roleIn(fields);
  if (runId === undefined || runId === "" || role === null) return null;
  return {
    runId,
    role,
    // Redis and Valkey use different field names.
    clustered: (fields.get("redis_mode") ?? fields.get("server_mode")) === "cluster",
    connectedReplicas: countOnline(fields),
    loading: (fields.get("loading") ?? "0") !== "0",
    version: fields.get("redis_version") ?? "unknown",
    evictionPolicy: fields.get("maxmemory_policy") ?? null,
    serverMs: fields.has("server_time_usec") ? Number(fields.get("server_time_usec")) / 1000 : null,
  };
}

/** Parses the answer to INFO replication; `null` where it has no role. */
export function parseReplication(text: unknown): Pick<ServerInfo, "role" | "connectedReplicas"> | null {
  const fields = fieldsOf([text]);
  const role = roleIn(fields);
  return role === null ? null : { role, connectedReplicas: countOnline(fields) };
}

function roleIn(fields: ReadonlyMap<string, string>): ServerRole | null {
  const role = fields.get("role");
  if (role === undefined) return null;
  return role === "master" ? "master" : "replica";
}

function fieldsOf(texts: readonly unknown[]): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  for (const text of texts) {
    if (typeof text !== "string") continue;
    for (const line of text.split(/\r?\n/)) {
      const colon = line.indexOf(":");
      if (colon > 0) fields.set(line.slice(0, colon), line.slice(colon + 1));
    }
  }
  return fields;
}

/**
 * Counts the replicas in step. `connected_slaves` also counts replicas that are still copying the data, which acknowledge nothing
 * yet.
 */
function countOnline(fields: ReadonlyMap<string, string>): number {
  let online = 0;
  for (const [field, value] of fields) {
    if (/^slave\d+$/.test(field) && /(?:^|,)state=online(?:,|$)/.test(value)) online++;
  }
  return online;
}
