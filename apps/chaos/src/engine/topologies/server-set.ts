import type { ProxiedSession, ProxyMode, TcpProxy } from "@holdfast/test-servers";
import type { ServerAddresses } from "../../workload/addresses.js";
import type { WorkerKey } from "../../workload/protocol.js";
import type { Topology } from "../scenario.js";

/** A server process. */
export interface Server {
  /** The name in evidence and logs: `zk1`, `redis-16480`. */
  readonly name: string;
  /** Whether the process exists. A paused process does. */
  readonly running: boolean;
  /**
   * The role that it reports: `leader`, `follower`, `standalone`, `master`, `replica`, `sentinel`; `null` if it does
   * not answer.
   */
  role(): Promise<string | null>;
  /** Sends SIGKILL, like a crash; the data stays. */
  kill(): Promise<void>;
  /** Sends SIGSTOP: the sockets stay open, and nothing answers. */
  pause(): Promise<void>;
  /** Sends SIGCONT. */
  resume(): void;
  /** Kills the process if it still runs, starts it with its data, and resolves when it serves. */
  restart(): Promise<void>;
  /** The evidence that the process exists and which server it is: pid and port. */
  evidence(): Readonly<Record<string, string | number>>;
}

/** The connection between one worker and the servers. */
export interface WorkerLink {
  /** The addresses to which this worker connects. */
  readonly addresses: ServerAddresses;
  /** Its own proxies; empty if it has none. */
  readonly proxies: readonly TcpProxy[];
  /** Sets what all of its proxies do to connections. */
  setMode(mode: ProxyMode): Promise<void>;
  /** ZooKeeper: the last session that it opened through its proxies; `null` if there is none. */
  session(): ProxiedSession | null;
  /** Closes its proxies. */
  close(): Promise<void>;
}

/** Observes the backend directly, past all cuts and proxies. */
export interface Observer {
  /** The holders and waiters, by `p:op` if the backend has that. Throws if it cannot see them. */
  look(key: WorkerKey): Promise<{ readonly holders: readonly string[]; readonly queue: readonly string[] }>;
  /** What is left of a key when all workers are gone. Parents that stay on purpose do not count. */
  left(key: WorkerKey): Promise<readonly string[]>;
  /** Ends its own connections. */
  close(): Promise<void>;
}

/** A server log, which is kept with the history. */
export interface ServerLog {
  /** The name of the server. */
  readonly name: string;
  /** The file. */
  readonly path: string;
}

/** The servers of a topology, used by one scenario after the other. */
export interface ServerSet {
  /** The topology as which the set was started. */
  readonly topology: Topology;
  /** Versions of the servers, by their names. */
  readonly versions: Readonly<Record<string, string>>;
  /** The addresses of the servers themselves, past all proxies. */
  readonly addresses: ServerAddresses;
  /** All servers that faults can hit. */
  readonly servers: readonly Server[];
  /** Opens the link of a worker. `proxied`: through proxies of its own. */
  link(worker: string, proxied: boolean): Promise<WorkerLink>;
  /** Opens an observer that connects past all proxies. */
  observer(): Promise<Observer>;
  /**
   * Makes everything run and serve again, whatever was done to it. Rejects if that fails; the set is then discarded.
   */
  heal(): Promise<void>;
  /**
   * Ends the session by which a worker holds a key, as an operator can. Resolves with the evidence. Unset:
   * `zk.session-kill` does it, or there are no sessions.
   */
  endSession?(holder: { readonly p: string; readonly key: WorkerKey }): Promise<unknown>;
  /** The logs of all servers. */
  logs(): readonly ServerLog[];
  /** Ends all servers and removes their data. */
  close(): Promise<void>;
}

/**
 * The servers with a role: `leader`, `follower`, `master`..., or `all`, or the server of a name. Waits at most
 * `withinMs` until there is one.
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

/** The role of each server by its name; `silent` for a server that does not answer. */
export async function rolesOf(set: ServerSet): Promise<Record<string, string>> {
  const entries = await Promise.all(
    set.servers.map(async (server) => [server.name, (await server.role()) ?? "silent"] as const),
  );
  return Object.fromEntries(entries);
}
