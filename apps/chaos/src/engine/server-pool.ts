import type { Topology } from "./scenario.js";
import { startServers } from "./topologies/registry.js";
import type { ServerSet } from "./topologies/server-set.js";

export const topologyName = (topology: Topology): string =>
  JSON.stringify(topology, Object.keys(topology).sort());

/**
 * Running servers by their topology. They are started ahead, passed from one scenario to the next, and closed when no
 * scenario needs them.
 */
export class ServerPool {
  readonly #start: (topology: Topology) => Promise<ServerSet>;
  readonly #sets = new Map<string, Promise<ServerSet>>();
  #closed = false;

  constructor(start: (topology: Topology) => Promise<ServerSet> = startServers) {
    this.#start = start;
  }

  /** Starts the servers, unless they are already starting or running. */
  prepare(topology: Topology): void {
    if (this.#closed) return;
    const name = topologyName(topology);
    if (this.#sets.has(name)) return;
    const set = this.#start(topology);
    set.catch(() => {}); // the code that takes the set gets the error
    this.#sets.set(name, set);
  }

  /** The set for a scenario, running and serving. */
  async take(topology: Topology): Promise<ServerSet> {
    if (this.#closed) throw new Error("the pool of servers is closed");
    this.prepare(topology);
    const name = topologyName(topology);
    try {
      return await (this.#sets.get(name) as Promise<ServerSet>);
    } catch (error) {
      this.#sets.delete(name);
      throw error;
    }
  }

  /** Heals the set after a scenario for the next one, or discards it if that fails. */
  async giveBack(set: ServerSet): Promise<void> {
    try {
      await set.heal();
    } catch {
      await this.discard(set.topology);
    }
  }

  async discard(topology: Topology): Promise<void> {
    const name = topologyName(topology);
    const set = this.#sets.get(name);
    this.#sets.delete(name);
    if (set === undefined) return;
    await closed(set);
  }

  /** Stops all sets. Sets that are still starting are stopped as soon as they are up. */
  async close(): Promise<void> {
    this.#closed = true;
    const sets = [...this.#sets.values()];
    this.#sets.clear();
    await Promise.all(sets.map(closed));
  }
}

/** Closes a set and never rejects. Servers that cannot be closed, or never came up, do not change what was judged. */
async function closed(starting: Promise<ServerSet>): Promise<void> {
  const set = await starting.catch(() => null);
  await set?.close().catch((error: unknown) => {
    process.emitWarning(`the servers ${topologyName(set.topology)} were not closed: ${String(error)}`, {
      type: "HoldfastWarning",
    });
  });
}
