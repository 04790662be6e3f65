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

/**
 * Sends a read that sets a watch. The listener belongs to the watch from the moment the answer is handled, not before: an
 * event in front of the answer tells of an earlier watch on the path.
 */
export function watchedRead<K extends "getData" | "getChildren2" | "exists", T>(
  desk: WatchDesk,
  op: K,
  path: string,
  listener: WatchListener<T>,
  outcomeOf: (outcome: Outcome<ResponseOf<K>>) => Outcome<T>,
): WatchHandle {
  const watch: Watch = {
    path,
    table: op === "getChildren2" ? "child" : "data",
    phase: "asked",
    awaitsCreation: false,
    fired: (type: WatchEventType) => listener.fired(type),
  };
  desk.watches.add(watch);
  const settle: Settle<ResponseOf<K>> = (outcome) => {
    if (outcome.ok || (op === "exists" && saysNoNode(outcome.error))) {
      watch.awaitsCreation = !outcome.ok;
      if (watch.phase === "asked") watch.phase = "armed";
    } else {
      desk.watches.end(watch);
    }
    listener.answered(outcomeOf(outcome));
  };
  try {
    desk.sendRead(op, path, settle);
  } catch (error) {
    desk.watches.end(watch); // a path that cannot be encoded: nothing was sent
    throw error;
  }
  return {
    drop: () => {
      desk.watches.end(watch);
      if (desk.watches.size === 0) desk.idle();
    },
    remove: () => {
      const lonely = desk.watches.end(watch);
      if (desk.watches.size === 0) desk.idle();
      if (!lonely || !desk.up || desk.watchedByOthers(path, watch.table)) return;
      // Also while the read is on its way: the server takes them in order.
      desk.removeWatches(path, watch.table === "child" ? WatcherType.children : WatcherType.data);
    },
  };
}
