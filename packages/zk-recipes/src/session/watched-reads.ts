import { type OpName, type ResponseOf, type WatchEventType, WatcherType } from "@holdfast/zk-protocol";
import { saysNoNode } from "./errors.js";
import type { Outcome, Settle, WatchHandle, WatchListener } from "./types.js";
import type { Watch, WatchRegistry, WatchTable } from "./watch-registry.js";

/** What watched reads need of the session. */
export interface WatchDesk {
  readonly watches: WatchRegistry;
  readonly up: boolean;
  sendRead<K extends OpName>(op: K, path: string, settle: Settle<ResponseOf<K>>): void;
  removeWatches(path: string, type: number): void;
  /** No watch is left; the process may be let go of soon. */
  idle(): void;
  /** Somebody outside the registry watches it over the same connection. */
  watchedByOthers(path: string, table: WatchTable): boolean;
}

type WatchedOp = "getData" | "getChildren2" | "exists";

/**
 * A read that sets a watch. The listener belongs to the watch from the moment the answer is handled, not before: an
 * event in front of the answer tells of an earlier watch on the path.
 */
export class WatchedRead<K extends WatchedOp, T> implements Watch, WatchHandle {
  readonly path: string;
  readonly table: WatchTable;
  phase: Watch["phase"] = "asked";
  awaitsCreation = false;
  readonly #desk: WatchDesk;
  readonly #listener: WatchListener<T>;

  /** Sends it. */
  constructor(
    desk: WatchDesk,
    op: K,
    path: string,
    listener: WatchListener<T>,
    outcomeOf: (outcome: Outcome<ResponseOf<K>>) => Outcome<T>,
  ) {
    this.#desk = desk;
    this.path = path;
    this.table = op === "getChildren2" ? "child" : "data";
    this.#listener = listener;
    desk.watches.add(this);
    try {
      desk.sendRead(op, path, (outcome) => {
        if (outcome.ok || (op === "exists" && saysNoNode(outcome.error))) {
          this.awaitsCreation = !outcome.ok;
          if (this.phase === "asked") this.phase = "armed";
        } else {
          desk.watches.end(this);
        }
        listener.answered(outcomeOf(outcome));
      });
    } catch (error) {
      desk.watches.end(this); // a path that cannot be encoded: nothing was sent
      throw error;
    }
  }

  fired(type: WatchEventType): void {
    this.#listener.fired(type);
  }

  drop(): void {
    this.#end();
  }

  remove(): void {
    const desk = this.#desk;
    if (!this.#end() || !desk.up || desk.watchedByOthers(this.path, this.table)) return;
    // Also while the read is on its way: the server takes them in order.
    desk.removeWatches(this.path, this.table === "child" ? WatcherType.children : WatcherType.data);
  }

  /** `true` when no other listener of this session watches the path. */
  #end(): boolean {
    const { watches } = this.#desk;
    const lonely = watches.end(this);
    if (watches.size === 0) this.#desk.idle();
    return lonely;
  }
}
