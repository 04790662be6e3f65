import type { Millis } from "@holdfast/core";
import { span } from "../judge/durations.js";
import { dated, type Found } from "../kit/finding-times.js";
import type { Finding, ObservedServer, ServerMeasures } from "../observe/collector.js";
import { infoFields, type Link } from "./link.js";
import type { Places } from "./places.js";

type Fact = ObservedServer["facts"][number];

/** With a greater skew, times that clients write by their own clocks (Redisson's fair queues and permits) are wrong. */
const skewMs: Millis = 2_000;

/** Reads what the servers report of themselves, and finds what is unsafe for locks. */
export class Servers {
  readonly #places: Places;
  readonly #wallMs: () => Millis;
  #findings: readonly Finding[] = [];

  constructor(places: Places, wallMs: () => Millis) {
    this.#places = places;
    this.#wallMs = wallMs;
  }

  get findings(): readonly Finding[] {
    return this.#findings;
  }

  async read(): Promise<readonly ObservedServer[]> {
    const found: Found[] = [];
    const offsets = new Map<string, number>();
    const nodes = [...this.#places.nodes()];
    const told = await Promise.all(nodes.map((link) => this.#info(link)));
    for (const each of told) {
      if (each?.info.get("role") !== "master") continue;
      this.#places.heardReplication(each.info);
      const runs = each.info.get("master_replid");
      if (runs !== undefined) offsets.set(runs, Number(each.info.get("master_repl_offset")));
    }
    this.#leaveDemoted(nodes, told);
    const servers = nodes.map((link, index) => this.#server(link, told[index] ?? null, offsets, found));
    const sentinels = await Promise.all(this.#places.sentinels.map((link) => this.#sentinel(link)));
    this.#findings = dated(found, this.#findings, this.#wallMs());
    return [...servers, ...sentinels];
  }

  /**
   * Where sentinels name the master, a connection that leads to a replica was made before a failover: the sentinels are
   * asked again.
   */
  #leaveDemoted(
    nodes: readonly Link[],
    told: readonly ({ readonly info: ReadonlyMap<string, string> } | null)[],
  ): void {
    if (this.#places.masterName === null) return;
    const [master] = this.#places.masters();
    const info = master === undefined ? null : told[nodes.indexOf(master)]?.info;
    if (info?.get("role") === "slave") this.#places.outdated();
  }

  async #info(link: Link): Promise<{ info: ReadonlyMap<string, string>; behindMs: Millis | null } | null> {
    const sections = ["server", "replication", "memory", "persistence", "stats", "clients"];
    try {
      const sentMs = this.#wallMs();
      const replies = await link.send([["time"], ...sections.map((each) => ["info", each] as const)]);
      const [time, ...infos] = replies;
      const info = infoFields(infos.filter((each) => typeof each === "string").join("\n"));
      const serverMs = Array.isArray(time) ? Number(time[0]) * 1_000 + Number(time[1]) / 1_000 : null;
      const behindMs = serverMs === null ? null : (sentMs + this.#wallMs()) / 2 - serverMs;
      return { info, behindMs };
    } catch {
      return null;
    }
  }

  #server(
    link: Link,
    told: { readonly info: ReadonlyMap<string, string>; readonly behindMs: Millis | null } | null,
    offsets: ReadonlyMap<string, number>,
    found: Found[],
  ): ObservedServer {
    const { name } = link;
    if (told === null) {
      // Nothing shows that the findings about this server are over, so they stay.
      found.push(...this.#findings.filter(({ object }) => object === name));
      return { name, role: "unknown", reachable: false, version: null, facts: unreachable(link) };
    }
    const { info, behindMs } = told;
    const role = info.get("role") === "slave" ? "replica" : info.has("role") ? "master" : "unknown";
    const facts: Fact[] = [];
    let measures: ServerMeasures = {};
    const tell = (fact: string, value: string | undefined, warning = false): void => {
      if (value !== undefined) facts.push({ name: fact, value, warning });
    };
    if (role === "replica") {
      const offset = Number(info.get("slave_repl_offset") ?? info.get("master_repl_offset"));
      const ahead = offsets.get(info.get("master_replid") ?? "");
      const link = info.get("master_link_status");
      tell("follows", `${info.get("master_host")}:${info.get("master_port")}`);
      tell("link to the master", link, link !== "up");
      if (ahead !== undefined && Number.isFinite(offset)) {
        const replicationLagBytes = Math.max(0, ahead - offset);
        measures = { replicationLagBytes };
        tell("lag", `${replicationLagBytes} B`);
      }
    } else {
      const replicas = info.get("connected_slaves");
      if (replicas !== undefined) measures = { connectedReplicas: Number(replicas) };
      tell("replicas", replicas);
      for (const [field, value] of info) {
        const replica = /^slave\d+$/.test(field)
          ? /ip=([^,]+),port=(\d+),state=([^,]+),offset=(\d+)/.exec(value)
          : null;
        if (replica === null) continue;
        const [, host, port, state, offset] = replica;
        const lag = Math.max(0, Number(info.get("master_repl_offset")) - Number(offset));
        tell(`replica ${host}:${port}`, `${state}, lag ${lag} B`, state !== "online");
      }
    }
    tell("replication offset", info.get("master_repl_offset"));
    const policy = info.get("maxmemory_policy");
    const maxMemory = Number(info.get("maxmemory") ?? 0);
    const evicts = policy !== undefined && policy !== "noeviction";
    tell("eviction policy", policy, evicts);
    tell("memory used", info.get("used_memory_human"));
    // Without the right to INFO, these are not known.
    if (info.has("maxmemory")) tell("memory limit", maxMemory === 0 ? "none" : info.get("maxmemory_human"));
    if (info.has("aof_enabled")) tell("append only file", info.get("aof_enabled") === "1" ? "on" : "off");
    const saved = Number(info.get("rdb_last_save_time") ?? 0);
    if (saved > 0) tell("last snapshot", new Date(saved * 1_000).toISOString());
    tell("connections", info.get("connected_clients"));
    tell("commands per second", info.get("instantaneous_ops_per_sec"));
    tell("keys evicted", info.get("evicted_keys"), Number(info.get("evicted_keys") ?? 0) > 0);
    tell("up since", sinceOf(info, this.#wallMs()));
    if (role !== "replica" && evicts) {
      found.push({
        id: `eviction-policy ${name}`,
        kind: "eviction-policy",
        severity: maxMemory > 0 ? "critical" : "warning",
        object: name,
        evidence: `maxmemory-policy is ${policy}${maxMemory > 0 ? ` and maxmemory ${info.get("maxmemory_human")}` : ", and no limit of memory is set yet"}.`,
        advice:
          "A server that is short of memory deletes locks that are held: CONFIG SET maxmemory-policy noeviction, or keep locks on a server of their own.",
      });
    }
    if (behindMs !== null && Math.abs(behindMs) > skewMs) {
      const how = `${span(Math.abs(behindMs))} ${behindMs > 0 ? "behind" : "ahead of"}`;
      tell("clock", `${how} that of the dashboard`, true);
      found.push({
        id: `clock-skew ${name}`,
        kind: "clock-skew",
        severity: "warning",
        object: name,
        evidence: `The clock of the server is ${how} that of the dashboard.`,
        advice:
          "Fencing tokens go by the clock of the server, fair queues and permits of Redisson by those of its clients: synchronise all of them.",
      });
    }
    return { name, role, reachable: true, version: info.get("redis_version") ?? null, facts, measures };
  }

  async #sentinel(link: Link): Promise<ObservedServer> {
    const { name } = link;
    const master = this.#places.masterName ?? "";
    try {
      const [state, server] = await link.send([
        ["sentinel", "master", master],
        ["info", "server"],
      ]);
      const facts: Fact[] = [];
      let measures: ServerMeasures = {};
      const fields = new Map<string, string>();
      if (Array.isArray(state)) {
        for (let at = 0; at + 1 < state.length; at += 2) fields.set(String(state[at]), String(state[at + 1]));
      } else facts.push({ name: "master", value: String(state), warning: true });
      const flags = fields.get("flags");
      if (fields.size > 0) {
        const address = `${fields.get("ip")}:${fields.get("port")}`;
        facts.push({ name: "master", value: `${master} at ${address}`, warning: false });
        facts.push({ name: "sees it as", value: String(flags), warning: flags !== "master" });
        facts.push({ name: "replicas", value: String(fields.get("num-slaves")), warning: false });
        const others = Number(fields.get("num-other-sentinels"));
        const quorum = Number(fields.get("quorum"));
        measures = { sentinelsKnown: others + 1 };
        facts.push({ name: "other sentinels", value: String(others), warning: others + 1 < quorum });
        facts.push({ name: "quorum", value: String(quorum), warning: false });
      }
      const version = infoFields(server).get("redis_version") ?? null;
      return { name, role: "sentinel", reachable: true, version, facts, measures };
    } catch {
      return { name, role: "sentinel", reachable: false, version: null, facts: unreachable(link) };
    }
  }
}

function unreachable(link: Link): readonly Fact[] {
  return [{ name: "not reachable", value: link.lastCause ?? "no answer", warning: true }];
}

function sinceOf(info: ReadonlyMap<string, string>, nowMs: Millis): string | undefined {
  const seconds = info.get("uptime_in_seconds");
  return seconds === undefined ? undefined : new Date(nowMs - Number(seconds) * 1_000).toISOString();
}
