import type { PrimitiveKind } from "@holdfast/core";
import { familyOf, type LayoutFinding, type TreeNode } from "@holdfast/zk-recipes/internal";
import { unknownMoment } from "../kit/moment.js";
import type { HoldOwner } from "../observe/collector.js";
import type { LockFigures, Moment, ObservedLock } from "../observe/observed-lock.js";
import type { KnownNodes } from "./known-nodes.js";
import { NameSet } from "./name-set.js";

/** A holder, and when its hold began. */
export interface Held {
  readonly name: string;
  readonly since: Moment;
  /**
   * `null`: the holder's node has not been read. It must be read while it is there, because nothing shows the owner
   * afterwards.
   */
  owner: HoldOwner | null;
  /** Whether the holder's node is to be read for its owner even if the lock has no waiters. */
  readonly identify: boolean;
}

export const noHolders: readonly Held[] = [];

/** What all places of a collector have in common. */
export interface ReadAsOf {
  /** The wall time up to which what is known of them is valid. */
  readonly asOfMs: number;
}

/**
 * A node that has, or may have, children: a lock, a level above locks, or a leaf that was not looked at yet. There may be
 * 100,000 of these, so a place keeps only the figures by which locks are counted and sorted. Its row is made on request.
 */
export class Place implements LockFigures {
  readonly path: string;
  readonly #book: ReadAsOf;
  /** Children whose names a server has numbered for a recipe. */
  readonly numbered: NameSet = new NameSet();
  /** All other children. */
  readonly others: NameSet = new NameSet();
  /** The number of `others` with names as kazoo gives them to members. */
  ids = 0;
  /** Whether the right to list its children is missing. */
  denied = false;
  /** The latest pass of a walk that has seen it. Passes may overlap. */
  pass = 0;
  isLock = false;
  /** Whether it has been a lock; such a place is kept as an idle lock while it is empty. */
  wasLock = false;
  kind: PrimitiveKind | null = null;
  held: readonly Held[] = noHolders;
  waiters = 0;
  waiterUnit: LockFigures["waiterUnit"] = "participants";
  oldestWait: Moment = unknownMoment;
  oldestHold: Moment = unknownMoment;
  findings: readonly LayoutFinding[] | null = null;
  /** The child nodes that were read, by name; for a semaphore also the children of `locks` and `leases`. */
  known: KnownNodes | null = null;
  /** The node of the place itself, which was read because it had no children. */
  self: TreeNode | null = null;
  /** Wall time at which it was first seen without children; `null` while it has some. */
  emptySinceMs: number | null = null;
  /** The highest czxid of the holders' nodes that were read. */
  lastToken: bigint | null = null;
  tokenRegressed = false;
  attended = false;
  dirty = false;
  /**
   * The row as of the last change. It is kept only for a long queue, whose row is expensive, and where a finding needs it
   * each second.
   */
  row: ObservedLock | null = null;

  constructor(path: string, book: ReadAsOf) {
    this.path = path;
    this.#book = book;
  }

  seenIn(pass: number): void {
    this.pass = Math.max(this.pass, pass);
  }

  get key(): string {
    return this.path;
  }

  get readMs(): number {
    return this.#book.asOfMs;
  }

  get state(): LockFigures["state"] {
    return this.waiters > 0 ? "contended" : this.held.length > 0 ? "held" : "idle";
  }

  get holderCount(): number {
    return this.held.length;
  }

  get waiterCount(): number {
    return this.waiters;
  }

  get size(): number {
    return this.numbered.size + this.others.size;
  }

  has(name: string): boolean {
    return this.numbered.has(name) || this.others.has(name);
  }

  add(name: string): boolean {
    if (isNumbered(name)) return this.numbered.add(name);
    if (!this.others.add(name)) return false;
    if (isKazooId(name)) this.ids += 1;
    return true;
  }

  delete(name: string): boolean {
    this.known?.delete(name);
    if (this.numbered.delete(name)) return true;
    if (!this.others.delete(name)) return false;
    if (isKazooId(name)) this.ids -= 1;
    return true;
  }

  *names(): Generator<string> {
    yield* this.numbered;
    yield* this.others;
  }
}

/** Whether a name is one that only a contender has. Such a node counts as a leaf and is never listed. */
export function isNumbered(name: string): boolean {
  const last = name.charCodeAt(name.length - 1);
  if (last < 0x30 || last > 0x39) return false;
  const family = familyOf(name);
  return family !== null && family !== "double-barrier";
}

/** Whether a name is like those of members of kazoo's `Semaphore` and `DoubleBarrier`. A lock may have such a name too. */
export function isKazooId(name: string): boolean {
  return name.length === 32 && /^[0-9a-f]{32}$/.test(name);
}
