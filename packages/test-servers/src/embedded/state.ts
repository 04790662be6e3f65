import { openAcl } from "@holdfast/zk-protocol";
import { TestServerError } from "../errors.js";
import type { Identity } from "./acl.js";
import type { Clock } from "./clock.js";
import type { Behaviour } from "./compat.js";
import type { Random } from "./random.js";
import { type Session, Sessions } from "./sessions.js";
import { Tree } from "./tree.js";
import { type Change, type Watcher, Watches } from "./watches.js";

/** Old state that a client is served while it is behind. */
export interface View {
  readonly tree: Tree;
  readonly zxid: bigint;
  /** The client is served also when its session has ended, and nothing that it sends renews that. */
  readonly cutOff: boolean;
}

/** A connection, as far as requests depend on it. */
export interface Client extends Watcher {
  /** Its first is that of its address. */
  readonly identities: Identity[];
  /** Set while it reads old state. */
  readonly view: View | undefined;
  /** Set for one request: its watch gets lost. */
  readonly losesWatch: boolean;
}

export interface StateOptions {
  readonly behaviour: Behaviour;
  readonly clock: Clock;
  readonly random: Random;
  readonly tickMs: number;
  readonly minTimeoutMs: number;
  readonly maxTimeoutMs: number;
  readonly extendedTypes: boolean;
  /** Starts of this server without its state before this one: their session ids differ, also by a clock that stands. Default 0. */
  readonly startsBefore?: number;
}

/**
 * All that a server knows, without sockets and with a borrowed clock. Everything happens in one turn:
 * a change, its events and its answer come in this order for every connection.
 */
export class State {
  readonly behaviour: Behaviour;
  readonly clock: Clock;
  readonly random: Random;
  readonly tickMs: number;
  readonly extendedTypes: boolean;
  readonly tree: Tree;
  readonly watches: Watches;
  readonly sessions: Sessions;
  /** Last one given out. */
  zxid = 0n;
  /**
   * Order in which the nodes of an ended session go, all in one transaction. Real servers promise
   * none; by default it is drawn from the seed.
   */
  orderOfDying: (paths: string[]) => string[];

  constructor(options: StateOptions) {
    this.behaviour = options.behaviour;
    this.clock = options.clock;
    this.random = options.random;
    this.tickMs = options.tickMs;
    this.extendedTypes = options.extendedTypes;
    this.tree = new Tree(options.behaviour);
    this.watches = new Watches(options.behaviour);
    const startedAtMs = options.clock.wallMs() + (options.startsBefore ?? 0);
    this.sessions = new Sessions({ ...options, serverId: 1, startedAtMs });
    this.orderOfDying = (paths) => this.random.shuffle(paths);
  }

  nextZxid(): bigint {
    this.zxid += 1n;
    return this.zxid;
  }

  openSession(wishedMs: number): Session {
    this.nextZxid();
    return this.sessions.open(wishedMs, this.clock.nowMs());
  }

  /** Ends a session with all its nodes in one transaction; closing its connection is the caller's. */
  closeSession(id: bigint, zxid: bigint = this.nextZxid()): Session | undefined {
    const session = this.sessions.close(id);
    for (const path of this.orderOfDying([...this.tree.ephemeralsOf(id)])) {
      const node = this.tree.get(path);
      const parent = this.tree.get(parentPath(path));
      if (node === undefined || parent === undefined) continue;
      this.tree.delete(parent, node, zxid);
      this.watches.fire({ type: "deleted", path, acl: node.acl, parentAcl: parent.acl }, zxid);
    }
    return session;
  }

  /**
   * Takes away an empty container or TTL node as the cleaner does, whether or not its time has come.
   * False if it is no such node or has children.
   */
  deleteMortal(path: string): boolean {
    const zxid = this.nextZxid();
    const node = this.tree.get(path);
    const parent = this.tree.get(parentPath(path));
    if (node === undefined || parent === undefined || node.childCount > 0) return false;
    if (node.kind !== "container" && node.kind !== "ttl") return false;
    this.tree.delete(parent, node, zxid);
    this.watches.fire({ type: "deleted", path, acl: node.acl, parentAcl: parent.acl }, zxid);
    return true;
  }

  /** The next sequential child of `path` gets the number `n`. */
  setSequence(path: string, n: number): void {
    const node = this.tree.get(path);
    if (node === undefined) throw new TestServerError(`there is no ${path} whose sequence could be set`);
    if ((n | 0) !== n) throw new RangeError(`a sequence number has 32 bits: ${n}`);
    this.tree.setCounter(node, n);
  }

  /** The same for a node that is made first, with all above it. */
  presetSequence(path: string, n: number): void {
    for (let slash = path.indexOf("/", 1); ; slash = path.indexOf("/", slash + 1)) {
      const at = slash === -1 ? path : path.slice(0, slash);
      const parent = this.tree.get(parentPath(at));
      if (parent !== undefined && this.tree.get(at) === undefined) {
        const timeMs = this.clock.wallMs();
        const zxid = this.nextZxid();
        const init = { path: at, data: null, acl: openAcl, zxid, timeMs, owner: 0n, ttlMs: 0 };
        this.tree.create(parent, { ...init, kind: "persistent" });
      }
      if (slash === -1) break;
    }
    this.setSequence(path, n);
  }

  fireAll(changes: readonly Change[], zxid: bigint): void {
    for (const change of changes) this.watches.fire(change, zxid);
  }
}

/** "" for a node under the root, which is a name of the root; undefined behaviour without a slash. */
export function parentPath(path: string): string {
  return path.slice(0, path.lastIndexOf("/"));
}
