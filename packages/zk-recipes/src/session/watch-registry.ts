import type { WatchEventType, WatcherEvent } from "@holdfast/zk-protocol";
import { guarded } from "../client/guarded.js";
import type { WatchedPaths } from "../client/set-watches.js";

/** The two tables a server keeps for each connection: getData and exists share one. */
export type WatchTable = "data" | "child";

/** One interest in one path. */
export interface Watch {
  readonly path: string;
  readonly table: WatchTable;
  /**
   * Asked: the read is on its way. Armed: an event is for it, since the read was answered or `setWatches` was sent. Over: fired, dropped,
   * refused, or lost with the session.
   */
  phase: "asked" | "armed" | "over";
  /** Set by exists on a missing node; such a watch is restored by another list. */
  awaitsCreation: boolean;
  fired(type: WatchEventType): void;
}

const tablesOf: { readonly [T in WatchEventType]: readonly WatchTable[] } = {
  created: ["data"],
  "data-changed": ["data"],
  "children-changed": ["child"],
  // The server sends a session one event, whichever of its tables has the node.
  deleted: ["data", "child"],
};

/**
 * The watches of one session, as many listeners on a path as there are interests, against one entry at the
 * server. A watch belongs to a listener from the moment the answer to its read is handled, in frame order: an event in front of that
 * answer is about an older watch, one behind it is about this one too.
 */
export class WatchRegistry {
  readonly #tables: { readonly [T in WatchTable]: Map<string, Watch[]> } = {
    data: new Map(),
    child: new Map(),
  };
  #size = 0;

  /** Listeners that have not come to their end. */
  get size(): number {
    return this.#size;
  }

  add(watch: Watch): void {
    const table = this.#tables[watch.table];
    const there = table.get(watch.path);
    if (there === undefined) table.set(watch.path, [watch]);
    else there.push(watch);
    this.#size += 1;
  }

  /** Ends the interest; `true` when no other listener here asks for that path and table. */
  end(watch: Watch): boolean {
    if (watch.phase === "over") return false;
    watch.phase = "over";
    this.#size -= 1;
    const table = this.#tables[watch.table];
    const there = table.get(watch.path) ?? [];
    const others = there.filter((other) => other !== watch);
    if (others.length === 0) table.delete(watch.path);
    else table.set(watch.path, others);
    return others.length === 0;
  }

  /** Uses up and calls every armed listener the event is for. */
  fire(event: WatcherEvent): void {
    const fired: Watch[] = [];
    for (const name of tablesOf[event.type]) {
      const table = this.#tables[name];
      const there = table.get(event.path);
      if (there === undefined) continue;
      const asked: Watch[] = [];
      for (const watch of there) (watch.phase === "armed" ? fired : asked).push(watch);
      if (asked.length === 0) table.delete(event.path);
      else table.set(event.path, asked);
    }
    for (const watch of fired) {
      if (watch.phase !== "armed") continue; // dropped by one that was called before it
      watch.phase = "over";
      this.#size -= 1;
      guarded(() => watch.fired(event.type));
    }
  }

  /**
   * Armed paths by the list of a `setWatches` request they belong in. Looked up one by one as they are taken: there may be a hundred
   * thousand, and what comes and goes between two of them is seen or not, which is the same to the server.
   */
  armedPaths(): WatchedPaths {
    const { data, child } = this.#tables;
    return {
      data: pathsOf(data, (watch) => !watch.awaitsCreation),
      exist: pathsOf(data, (watch) => watch.awaitsCreation),
      child: pathsOf(child, () => true),
    };
  }

  /** The session is over: no listener is called any more. */
  clear(): void {
    for (const table of [this.#tables.data, this.#tables.child]) {
      for (const watches of table.values()) for (const watch of watches) watch.phase = "over";
      table.clear();
    }
    this.#size = 0;
  }
}

function* pathsOf(table: ReadonlyMap<string, Watch[]>, wanted: (watch: Watch) => boolean): Generator<string> {
  for (const [path, watches] of table) {
    if (watches.some((watch) => watch.phase === "armed" && wanted(watch))) yield path;
  }
}
