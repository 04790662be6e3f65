import {
  type Acl,
  encodeFrame,
  encodeReplyHeader,
  encodeWatcherEvent,
  openAcl,
  Perms,
  syncConnectedState,
  type WatchEventType,
  xids,
} from "@holdfast/zk-protocol";
import { allowed, type Identity } from "./acl.js";

/** One event on its way. Its bytes are made once for all its receivers. */
export class Notice {
  readonly type: WatchEventType;
  readonly path: string;
  /** The zxid of the change. The wire may carry -1 instead: up to 3.8 always, and for what `setWatches` sends. */
  readonly zxid: bigint;
  readonly #headerZxid: bigint;
  #frame: Buffer | undefined;

  constructor(type: WatchEventType, path: string, zxid: bigint, headerZxid: bigint) {
    this.type = type;
    this.path = path;
    this.zxid = zxid;
    this.#headerZxid = headerZxid;
  }

  get frame(): Buffer {
    this.#frame ??= encodeFrame(
      encodeReplyHeader({ xid: xids.event, zxid: this.#headerZxid, err: 0 }),
      encodeWatcherEvent({ type: this.type, state: syncConnectedState, path: this.path }),
    );
    return this.#frame;
  }
}

/** The receiver of events: one connection, not one session. */
export interface Watcher {
  /** 0n for an operator inside the process. */
  readonly sessionId: bigint;
  readonly identities: readonly Identity[];
  deliver(notice: Notice): void;
}

/** Bits, because from 3.9 on one connection can have several kinds of watch on one path. */
export const WatchMode = { oneShot: 1, persistent: 2, recursive: 4 } as const;
const lasting = WatchMode.persistent | WatchMode.recursive;

/** One of the two tables: of data watches or of child watches. */
export class WatchTable {
  readonly #overwrites: boolean;
  readonly #byPath = new Map<string, Map<Watcher, number>>();
  readonly #byWatcher = new Map<Watcher, Set<string>>();
  #recursive = 0;

  constructor(overwrites: boolean) {
    this.#overwrites = overwrites;
  }

  get count(): number {
    let count = 0;
    for (const watchers of this.#byPath.values()) count += watchers.size;
    return count;
  }

  get pathCount(): number {
    return this.#byPath.size;
  }

  get watcherCount(): number {
    return this.#byWatcher.size;
  }

  paths(): Iterable<[string, ReadonlyMap<Watcher, number>]> {
    return this.#byPath.entries();
  }

  pathsOf(watcher: Watcher): ReadonlySet<string> | undefined {
    return this.#byWatcher.get(watcher);
  }

  add(watcher: Watcher, path: string, mode: number): void {
    let watchers = this.#byPath.get(path);
    if (watchers === undefined) {
      watchers = new Map();
      this.#byPath.set(path, watchers);
    }
    const before = watchers.get(watcher) ?? 0;
    const after = this.#overwrites ? mode : before | mode;
    watchers.set(watcher, after);
    this.#recursive += recursiveOf(after) - recursiveOf(before);
    const own = this.#byWatcher.get(watcher);
    if (own === undefined) this.#byWatcher.set(watcher, new Set([path]));
    else own.add(path);
  }

  /** `modes` limits which kinds are removed; default all. Returns false if none of them was set. */
  remove(watcher: Watcher, path: string, modes: number = WatchMode.oneShot | lasting): boolean {
    const before = this.#byPath.get(path)?.get(watcher) ?? 0;
    if ((before & modes) === 0) return false;
    this.#set(watcher, path, before, before & ~modes);
    return true;
  }

  /** Whether the notice concerns a watch of this watcher on exactly its path. A one-shot watch is used up by it. */
  use(watcher: Watcher, { type, path }: Notice): boolean {
    const modes = this.#byPath.get(path)?.get(watcher) ?? 0;
    // A recursive watch reports the children themselves, never a change of the list.
    if ((modes & ~WatchMode.recursive) === 0 && (modes === 0 || type === "children-changed")) return false;
    if ((modes & WatchMode.oneShot) !== 0) this.#set(watcher, path, modes, modes & ~WatchMode.oneShot);
    return true;
  }

  /** Whether any client watches exactly this path. */
  watched(path: string): boolean {
    return this.#byPath.has(path);
  }

  /** Watches end with their connection. */
  forget(watcher: Watcher): void {
    const own = this.#byWatcher.get(watcher);
    if (own === undefined) return;
    for (const path of [...own]) this.remove(watcher, path);
  }

  /**
   * Sends the notice to all watchers that it concerns, except those in `except`. Returns all watchers that it concerns.
   * A watcher that may not read a node of this `acl` gets nothing, though its one-shot watch is used up.
   */
  trigger(
    notice: Notice,
    acl: readonly Acl[],
    except?: ReadonlySet<Watcher>,
  ): ReadonlySet<Watcher> | undefined {
    const here = this.#byPath.get(notice.path);
    if (here === undefined && this.#recursive === 0) return undefined;
    const told = new Set<Watcher>();
    if (here !== undefined) {
      for (const watcher of here.keys()) {
        if (this.use(watcher, notice)) told.add(watcher);
      }
    }
    if (this.#recursive > 0 && notice.type !== "children-changed") this.#collectAbove(notice.path, told);
    for (const watcher of told) {
      if (except?.has(watcher) !== true && allowed(acl, Perms.READ, watcher.identities)) {
        watcher.deliver(notice);
      }
    }
    return told;
  }

  #collectAbove(path: string, told: Set<Watcher>): void {
    for (let at = path.length; at > 0; ) {
      at = path.lastIndexOf("/", at - 1);
      const above = this.#byPath.get(at <= 0 ? "/" : path.slice(0, at));
      if (above === undefined) continue;
      for (const [watcher, modes] of above) {
        if (recursiveOf(modes) === 1) told.add(watcher);
      }
    }
  }

  #set(watcher: Watcher, path: string, before: number, after: number): void {
    this.#recursive += recursiveOf(after) - recursiveOf(before);
    const watchers = this.#byPath.get(path);
    if (after !== 0) {
      watchers?.set(watcher, after);
      return;
    }
    watchers?.delete(watcher);
    if (watchers?.size === 0) this.#byPath.delete(path);
    const own = this.#byWatcher.get(watcher);
    own?.delete(path);
    if (own?.size === 0) this.#byWatcher.delete(watcher);
  }
}

function recursiveOf(modes: number): number {
  return (modes & WatchMode.recursive) === 0 ? 0 : 1;
}

/** A change of the tree, as watchers see it. */
export interface Change {
  readonly type: "created" | "deleted" | "data-changed";
  readonly path: string;
  /** The ACL of the node; `parentAcl` is that of its parent. */
  readonly acl: readonly Acl[];
  readonly parentAcl: readonly Acl[];
}

/** Both tables of a server. */
export class Watches {
  readonly data: WatchTable;
  readonly child: WatchTable;
  readonly #eventsCarryZxid: boolean;
  readonly #filters: boolean;

  constructor(options: {
    readonly watchesOverwrite: boolean;
    readonly eventsCarryZxid: boolean;
    readonly eventsNeedRead: boolean;
  }) {
    this.data = new WatchTable(options.watchesOverwrite);
    this.child = new WatchTable(options.watchesOverwrite);
    this.#eventsCarryZxid = options.eventsCarryZxid;
    this.#filters = options.eventsNeedRead;
  }

  notice(type: WatchEventType, path: string, zxid: bigint): Notice {
    return new Notice(type, path, zxid, this.#eventsCarryZxid ? zxid : -1n);
  }

  fire(change: Change, zxid: bigint): void {
    const { type, path } = change;
    const acl = this.#filters ? change.acl : openAcl;
    const parentAcl = this.#filters ? change.parentAcl : openAcl;
    const notice = this.notice(type, path, zxid);
    const told = this.data.trigger(notice, acl);
    if (type === "data-changed") return;
    // A client that watched both data and children of a deleted node gets one event.
    if (type === "deleted") this.child.trigger(notice, acl, told);
    const slash = path.lastIndexOf("/");
    this.child.trigger(
      this.notice("children-changed", slash <= 0 ? "/" : path.slice(0, slash), zxid),
      parentAcl,
    );
  }

  forget(watcher: Watcher): void {
    this.data.forget(watcher);
    this.child.forget(watcher);
  }
}
