import type { PrimitiveKind } from "@holdfast/core";
import { familyOf, type LayoutFinding, type TreeNode } from "@holdfast/zk-recipes/internal";
import { unknownMoment } from "../kit/moment.js";
import type { HoldOwner } from "../observe/collector.js";
import type { LockFigures, Moment, ObservedLock } from "../observe/observed-lock.js";
import type { KnownNodes } from "./known-nodes.js";
import { NameSet } from "./name-set.js";

/** A holder, and since when it holds. */
export interface Held {
  readonly name: string;
  readonly since: Moment;
  /** `null`: its node has not been read. It is read while it is there, as nothing shows the owner afterwards. */
  owner: HoldOwner | null;
  /** Its node is to be read for its owner, though the lock has no waiters. */
  readonly identify: boolean;
}

export const noHolders: readonly Held[] = [];

/** What all places of a collector have in common. */
export interface ReadAsOf {
  /** Wall time of what is known of them. */
  readonly asOfMs: number;
}

/**
 * A node that has, or may have, children: a lock, a level above locks, or a leaf that was not looked at yet. There may be 100,000 of these:
 * of a lock it keeps what is counted and sorted by, and a row is made of it when it is asked for.
 */
export class Place implements LockFigures {
  readonly path: string;
  readonly #book: ReadAsOf;
  /** Children that a server has numbered for a recipe. */
  readonly numbered: NameSet = new NameSet();
  /** All other children. */
  readonly others: NameSet = new NameSet();
  /** How many of `others` have names as kazoo gives to members. */
  ids = 0;
  /** The right to list it is missing. */
  denied = false;
  /** The latest pass of a walk that has seen it. Passes may overlap. */
  pass = 0;
  isLock = false;
  /** Has been a lock, and is kept as an idle one while it is empty. */
  wasLock = false;
  kind: PrimitiveKind | null = null;
  held: readonly Held[] = noHolders;
  waiters = 0;
  waiterUnit: LockFigures["waiterUnit"] = "participants";
  oldestWait: Moment = unknownMoment;
  oldestHold: Moment = unknownMoment;
  findings: readonly LayoutFinding[] | null = null;
  /** What was read of children, by name; of a semaphore also those of `locks` and `leases`. */
  known: KnownNodes | null = null;
  /** Itself, read because it had no children. */
  self: TreeNode | null = null;
  /** Wall time at which it was first seen without children; `null` while it has some. */
  emptySinceMs: number | null = null;
  /** Highest creation of a holder that was read. */
  lastToken: bigint | null = null;
  tokenRegressed = false;
  attended = false;
  dirty = false;
  /** The row as of the last change. Kept only of a long queue, whose row is dear to make, and where a finding repeats it each second. */
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

/** Whether a name is one that only a contender has: such a node is taken for a leaf and never listed. */
export function isNumbered(name: string): boolean {
  const last = name.charCodeAt(name.length - 1);
  if (last < 0x30 || last > 0x39) return false;
  const family = familyOf(name);
  return family !== null && family !== "double-barrier";
}

/** The names of members of kazoo's `Semaphore` and `DoubleBarrier`. A lock may be called so too. */
export function isKazooId(name: string): boolean {
  return name.length === 32 && /^[0-9a-f]{32}$/.test(name);
}
