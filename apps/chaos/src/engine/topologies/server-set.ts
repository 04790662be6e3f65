import type { ProxiedSession, ProxyMode, TcpProxy } from "@holdfast/test-servers";
import type { ServerAddresses } from "../../workload/addresses.js";
import type { WorkerKey } from "../../workload/protocol.js";
import type { Topology } from "../scenario.js";

/** A server process. */
export interface Server {
  /** `zk1`, `redis-16480`: as evidence and logs name it. */
  readonly name: string;
  /** Whether the process exists. A paused one does. */
  readonly running: boolean;
  /** What it says of itself: `leader`, `follower`, `standalone`, `master`, `replica`, `sentinel`; `null` when it does not answer. */
  role(): Promise<string | null>;
  /** SIGKILL, as a crash would; its data stays. */
  kill(): Promise<void>;
  /** SIGSTOP: its sockets stay open, and nothing answers. */
  pause(): Promise<void>;
  /** SIGCONT. */
  resume(): void;
  /** Kills it where it still runs, starts it with its data, resolves when it serves. */
  restart(): Promise<void>;
  /** What shows that the process is there and which server it is: pid and port. */
  evidence(): Readonly<Record<string, string | number>>;
}

/** The way of one worker to the servers. */
export interface WorkerLink {
  /** Where this worker connects to. */
  readonly addresses: ServerAddresses;
  /** Its own proxies; empty where it has none. */
  readonly proxies: readonly TcpProxy[];
  /** Sets what all of its proxies do to connections. */
  setMode(mode: ProxyMode): Promise<void>;
  /** ZooKeeper: the session that it opened last through its proxies; `null` when there is none. */
  session(): ProxiedSession | null;
  /** Closes its proxies. */
  close(): Promise<void>;
}

/** Looks at the backend past everything that is cut and proxied. */
export interface Observer {
  /** Holders and waiters, by `p:op` where the backend has that; throws when it cannot see them. */
  look(key: WorkerKey): Promise<{ readonly holders: readonly string[]; readonly queue: readonly string[] }>;
  /** What is left of a key once all workers are gone. Parents that stay on purpose do not count. */
  left(key: WorkerKey): Promise<readonly string[]>;
  /** Ends its own connections. */
  close(): Promise<void>;
}

/** A log that is kept with the history. */
export interface ServerLog {
  /** The name of the server. */
  readonly name: string;
  /** The file. */
  readonly path: string;
}

/** The servers of a topology, for one scenario after the other. */
export interface ServerSet {
  /** What it was started as. */
  readonly topology: Topology;
  /** Versions of the servers, by their names. */
  readonly versions: Readonly<Record<string, string>>;
  /** Addresses past all proxies. */
  readonly addresses: ServerAddresses;
  /** All servers that can be hit. */
  readonly servers: readonly Server[];
  /** Opens a worker's way. `proxied`: by proxies of its own. */
  link(worker: string, proxied: boolean): Promise<WorkerLink>;
  /** Opens an observer past all proxies. */
  observer(): Promise<Observer>;
  /** Everything runs and serves again, whatever was done to it. Rejects when that cannot be had: the set is then thrown away. */
  heal(): Promise<void>;
  /** Ends the session by which a worker holds a key, as an operator can; gives what shows it. Unset: `zk.session-kill` does it, or there are none. */
  endSession?(holder: { readonly p: string; readonly key: WorkerKey }): Promise<unknown>;
  /** The logs of all servers. */
  logs(): readonly ServerLog[];
  /** Ends all servers and removes their data. */
  close(): Promise<void>;
}

/**
 * The servers of a role: `leader`, `follower`, `master`..., `all`, or a name. Waits until there is one, at most `withinMs`.
 */
export async function findServers(set: ServerSet, role: string, withinMs = 15_000): Promise<Server[]> {
  if (role === "all") return [...set.servers];
  const named = set.servers.filter(({ name }) => name === role);
  if (named.length > 0) return named;
  const endMs = performance.now() + withinMs;
  for (;;) {
    const roles = await Promise.all(set.servers.map((server) => server.role()));
    const found = set.servers.filter((_, at) => roles[at] === role);
    if (found.length > 0) return found;
    if (performance.now() >= endMs) {
      throw new Error(
        `no server is a ${role}: ${set.servers.map(({ name }, at) => `${name} ${roles[at]}`).join(", ")}`,
      );
    }
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

/** The role of each server by its name; `silent` for one that does not answer. */
export async function rolesOf(set: ServerSet): Promise<Record<string, string>> {
  const entries = await Promise.all(
    set.servers.map(async (server) => [server.name, (await server.role()) ?? "silent"] as const),
  );
  return Object.fromEntries(entries);
}
