import type { WatchEventType, WatcherEvent } from "@holdfast/zk-protocol";
import { guarded } from "../client/guarded.js";
import type { WatchedPaths } from "../client/set-watches.js";

/** The two tables of watches that a server keeps for each connection: getData and exists share one. */
export type WatchTable = "data" | "child";

/** The interest of one listener in one path. */
export interface Watch {
  readonly path: string;
  readonly table: WatchTable;
  /**
   * `"asked"`: the read is on its way. `"armed"`: the read was answered, or `setWatches` was sent, so events are for this
   * watch. `"over"`: it has fired, or was dropped, refused, or lost with the session.
   */
  phase: "asked" | "armed" | "over";
  /** Set by exists on a missing node. A new connection restores such a watch by another list of `setWatches`. */
  awaitsCreation: boolean;
  fired(type: WatchEventType): void;
}

const tablesOf: { readonly [T in WatchEventType]: readonly WatchTable[] } = {
  created: ["data"],
  "data-changed": ["data"],
  "children-changed": ["child"],
  // The server sends a session one event, even if the node is in both of its tables.
  deleted: ["data", "child"],
};

/**
 * The watches of one session. The server has one entry for each path and table, for which there may be several listeners
 * here.
 *
 * A watch belongs to a listener from the moment at which the answer to its read is handled, in frame order. An event
 * before that answer is about an older watch; an event behind it is about this one too.
 */
export class WatchRegistry {
  readonly #tables: { readonly [T in WatchTable]: Map<string, Set<Watch>> } = {
    data: new Map(),
    child: new Map(),
  };
  #size = 0;

  /** The number of listeners whose watch is not over. */
  get size(): number {
    return this.#size;
  }

  add(watch: Watch): void {
    const table = this.#tables[watch.table];
    const there = table.get(watch.path);
    if (there === undefined) table.set(watch.path, new Set([watch]));
    else there.add(watch);
    this.#size += 1;
  }

  /** Ends the interest. `true` when no other listener here has a watch for that path and table. */
  end(watch: Watch): boolean {
    if (watch.phase === "over") return false;
    watch.phase = "over";
    this.#size -= 1;
    const table = this.#tables[watch.table];
    const there = table.get(watch.path);
    there?.delete(watch);
    if (there !== undefined && there.size > 0) return false;
    table.delete(watch.path);
    return true;
  }

  /** Uses up and calls every armed listener that the event is for. */
  fire(event: WatcherEvent): void {
    const fired: Watch[] = [];
    for (const name of tablesOf[event.type]) {
      const table = this.#tables[name];
      const there = table.get(event.path);
      if (there === undefined) continue;
      for (const watch of there) {
        if (watch.phase !== "armed") continue;
        fired.push(watch);
        there.delete(watch);
      }
      if (there.size === 0) table.delete(event.path);
    }
    for (const watch of fired) {
      if (watch.phase !== "armed") continue; // a listener that was called before it has dropped it
      watch.phase = "over";
      this.#size -= 1;
      guarded(() => watch.fired(event.type));
    }
  }

  /**
   * The armed paths, by the list of a `setWatches` request that they belong in. They are looked up one by one as they are
   * taken, because there may be a hundred thousand. A watch that is added or ended meanwhile may be listed or not; that
   * is the same to the server.
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

function* pathsOf(
  table: ReadonlyMap<string, ReadonlySet<Watch>>,
  wanted: (watch: Watch) => boolean,
): Generator<string> {
  for (const [path, watches] of table) {
    for (const watch of watches) {
      if (watch.phase !== "armed" || !wanted(watch)) continue;
      yield path;
      break;
    }
  }
}
