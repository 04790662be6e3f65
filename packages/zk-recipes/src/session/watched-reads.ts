import {
  type OpName,
  type RequestOf,
  type ResponseOf,
  type WatchEventType,
  WatcherType,
} from "@holdfast/zk-protocol";
import { guarded } from "../client/guarded.js";
import { noPaths, setWatchesPieces } from "../client/set-watches.js";
import { saysNoNode } from "./errors.js";
import type { Outcome, Settle, UnreadWatch, WatchHandle, WatchListener } from "./types.js";
import type { Watch, WatchRegistry, WatchTable } from "./watch-registry.js";

/** What watches need of the session. */
export interface WatchContext {
  readonly watches: WatchRegistry;
  readonly up: boolean;
  send<K extends OpName>(op: K, request: RequestOf<K>, settle: Settle<ResponseOf<K>>): void;
  removeWatches(path: string, type: number): void;
  /** No watch is left: the session may soon release the process. */
  idle(): void;
  /** Whether code outside the registry watches the path over the same connection, or may be about to. */
  watchedByOthers(path: string, table: WatchTable): boolean;
}

type WatchedOp = "getData" | "getChildren2" | "exists";

class SessionWatch<T> implements Watch, WatchHandle {
  readonly path: string;
  readonly table: WatchTable;
  phase: Watch["phase"];
  awaitsCreation = false;
  readonly listener: WatchListener<T>;
  readonly #context: WatchContext;

  constructor(
    context: WatchContext,
    path: string,
    table: WatchTable,
    phase: Watch["phase"],
    listener: WatchListener<T>,
  ) {
    this.#context = context;
    this.path = path;
    this.table = table;
    this.phase = phase;
    this.listener = listener;
    context.watches.add(this);
  }

  fired(type: WatchEventType): void {
    this.listener.fired(type);
  }

  drop(): void {
    this.#end();
  }

  remove(): void {
    const context = this.#context;
    if (!this.#end() || !context.up || context.watchedByOthers(this.path, this.table)) return;
    // Also while the read is on its way: the server handles requests in order.
    context.removeWatches(this.path, this.table === "child" ? WatcherType.children : WatcherType.data);
  }

  /** Ends the watch. `true` when no other listener of this session watches the path. */
  #end(): boolean {
    const { watches } = this.#context;
    const lonely = watches.end(this);
    if (watches.size === 0) this.#context.idle();
    return lonely;
  }
}

/**
 * Sends a read that sets a watch. The watch belongs to the listener from the moment at which the answer is handled, not
 * before: an event before the answer is about an earlier watch on the path.
 */
export function watchByRead<K extends WatchedOp, T>(
  context: WatchContext,
  op: K,
  path: string,
  listener: WatchListener<T>,
  outcomeOf: (outcome: Outcome<ResponseOf<K>>) => Outcome<T>,
): WatchHandle {
  const watch = new SessionWatch(context, path, op === "getChildren2" ? "child" : "data", "asked", listener);
  try {
    context.send(op, { path, watch: true } as RequestOf<K>, (outcome) => {
      if (outcome.ok || (op === "exists" && saysNoNode(outcome.error))) {
        watch.awaitsCreation = !outcome.ok;
        if (watch.phase === "asked") watch.phase = "armed";
      } else {
        context.watches.end(watch);
      }
      listener.answered(outcomeOf(outcome));
    });
  } catch (error) {
    context.watches.end(watch); // a path that cannot be encoded: nothing was sent
    throw error;
  }
  return watch;
}

/**
 * See `ZooKeeperSession`. The watches are armed from the start: an event before the answer shows what the request itself
 * has found.
 */
export function watchUnread(
  context: WatchContext,
  unread: readonly UnreadWatch[],
  sinceZxid: bigint,
): WatchHandle[] {
  const watches = unread.map(
    ({ path, listener }) => new SessionWatch(context, path, "data", "armed", listener),
  );
  const data = unread.map(({ path }) => path);
  let from = 0;
  // Nearly always there is one piece. There are more when paths are nearly as long as a request.
  for (const piece of setWatchesPieces({ ...noPaths, data }, sinceZxid)) {
    const asked = watches.slice(from, from + piece.dataWatches.length);
    from += asked.length;
    context.send("setWatches", piece, (outcome) => {
      for (const watch of asked) {
        if (watch.phase === "over") continue;
        if (!outcome.ok) context.watches.end(watch);
        guarded(() => watch.listener.answered(outcome.ok ? { ...outcome, value: null } : outcome));
      }
    });
  }
  return watches;
}
