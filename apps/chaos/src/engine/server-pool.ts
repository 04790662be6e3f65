import type { Topology } from "./scenario.js";
import { startServers } from "./topologies/registry.js";
import type { ServerSet } from "./topologies/server-set.js";

export const topologyName = (topology: Topology): string =>
  JSON.stringify(topology, Object.keys(topology).sort());

/** Running servers by their topology: started ahead, handed from one scenario to the next, closed when no scenario needs them. */
export class ServerPool {
  readonly #start: (topology: Topology) => Promise<ServerSet>;
  readonly #sets = new Map<string, Promise<ServerSet>>();
  #closed = false;

  constructor(start: (topology: Topology) => Promise<ServerSet> = startServers) {
    this.#start = start;
  }

  /** Begins to start them, unless that has begun. */
  prepare(topology: Topology): void {
    if (this.#closed) return;
    const name = topologyName(topology);
    if (this.#sets.has(name)) return;
    const set = this.#start(topology);
    set.catch(() => {}); // it is reported to the code that takes it
    this.#sets.set(name, set);
  }

  /** The set for a scenario, up and serving. */
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

  /** After a scenario: makes it whole again for the next, or throws it away where that fails. */
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

  /** Stops all, those that are still starting as soon as they are up. */
  async close(): Promise<void> {
    this.#closed = true;
    const sets = [...this.#sets.values()];
    this.#sets.clear();
    await Promise.all(sets.map(closed));
  }
}

/** Never rejects: servers that cannot be closed, or have never come up, change nothing of what was judged. */
async function closed(starting: Promise<ServerSet>): Promise<void> {
  const set = await starting.catch(() => null);
  await set?.close().catch((error: unknown) => {
    process.emitWarning(`the servers ${topologyName(set.topology)} were not closed: ${String(error)}`, {
      type: "HoldfastWarning",
    });
  });
}
