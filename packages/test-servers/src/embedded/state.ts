import { openAcl } from "@holdfast/zk-protocol";
import { TestServerError } from "../errors.js";
import type { Identity } from "./acl.js";
import type { Clock } from "./clock.js";
import type { Behaviour } from "./compat.js";
import type { Random } from "./random.js";
import { type Session, Sessions } from "./sessions.js";
import { Tree } from "./tree.js";
import { type Change, type Watcher, Watches } from "./watches.js";

/** The old state that a client reads while its member lags. */
export interface View {
  readonly tree: Tree;
  readonly zxid: bigint;
  /** The client is served even after its session has ended, and nothing that it sends renews the session. */
  readonly cutOff: boolean;
}

/** A connection, as far as requests depend on it. */
export interface Client extends Watcher {
  /** The first one is that of the connection's address. */
  readonly identities: Identity[];
  /** Set while the client reads old state. */
  readonly view: View | undefined;
  /** Set for one request: the watch of this request is not set. */
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
  /**
   * How often this server has started without its earlier state. Session ids differ by it, even if the clock stands
   * still. Default 0.
   */
  readonly startsBefore?: number;
}

/**
 * All that a server knows, without sockets and with a clock that it is given. Everything happens in one turn of the
 * event loop: for every connection a change comes first, then its events, then its answer.
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
  /**
   * The last zxid that was given out. It begins as in the first epoch of an ensemble: no fencing token fits into 32 bits there, and
   * a column that is too narrow should fail in a test.
   */
  zxid: bigint = 1n << 32n;
  /**
   * Gives the order in which the nodes of an ended session are deleted, all in one transaction. Real servers promise no
   * order; by default it is drawn from the seed.
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

  /** Ends a session and deletes all its nodes in one transaction. The caller has to close its connection. */
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
   * Deletes an empty container or TTL node as the cleaner does, whether or not its time has come. Returns false if it
   * is no such node or has children.
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

  /** Does the same for a node that it first makes, with all its ancestors. */
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

/** Gives "" for a node under the root: "" is a name of the root. A path without a slash is not allowed. */
export function parentPath(path: string): string {
  return path.slice(0, path.lastIndexOf("/"));
}
