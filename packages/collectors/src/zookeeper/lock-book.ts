import type { Runtime } from "@holdfast/core";
import { baseName, joinPath, parentOf, type Stat } from "@holdfast/zk-protocol";
import {
  blockersOf,
  familyOf,
  isKazooName,
  type LayoutFinding,
  parseProtectedName,
  type RecognisedTree,
  recogniseTree,
  type TreeNode,
} from "@holdfast/zk-recipes/internal";
import { heldForMs, unknownMoment } from "../kit/moment.js";
import type { CollectorEvent, HoldOwner, StoryOptions } from "../observe/collector.js";
import type { Moment, ObservedLock } from "../observe/observed-lock.js";
import { KnownNodes } from "./known-nodes.js";
import type { NodeToRead } from "./node-reads.js";
import { childToRead, nodeToRead } from "./node-reads.js";
import { isToldBy, participantOf } from "./participants.js";
import { type Held, noHolders, type Place } from "./place.js";
import {
  emptyRow,
  loneKind,
  loneRow,
  oldestHoldOf,
  oldestWaitOf,
  shownInRow,
  treeRow,
  waiterUnitOf,
} from "./rows.js";
import { SharedValues } from "./shared-values.js";
import { lockPlace, loneContender, nodePaths, recognisePlace, treeOf } from "./standing.js";
import { type MirrorListener, TreeMirror } from "./tree-mirror.js";

export interface LockBookContext {
  readonly runtime: Runtime;
  emit(event: CollectorEvent): void;
  /** Whether a lone ephemeral node at this path is a naive mutex. */
  isNaive(path: string): boolean;
  /** Asks for a read of the nodes of this lock that are wanted and not known. */
  want(place: Place): void;
  wantSelf(place: Place): void;
  forget(place: Place): void;
  /** Whether all holders are to be read, and not only those of contended locks. */
  readonly identifyHolders: boolean;
  earlierSight: NonNullable<StoryOptions["earlierSight"]>;
}

/**
 * The most holds that had begun before they were seen and are still read for their owners. A start may find 100,000 of them,
 * and what is read of each stays in memory. The owners of the others are read once their locks have waiters or are on
 * screen.
 */
const mostFoundIdentified = 5_000;

/** In a lock with more contenders than this, the changes of one turn of the event loop are evaluated together. */
const smallQueue = 32;
const shownWaiters = 20;
const shownHolders = 20;

/**
 * Knows which places are locks, which contenders hold them and since when, as far as names alone show it. A place is
 * evaluated again only when its names change.
 */
export class LockBook implements MirrorListener {
  readonly mirror: TreeMirror = new TreeMirror(this, (path) => this.#context.isNaive(path));
  /** Locks with findings. */
  readonly suspicious: Set<Place> = new Set();
  /** Locks with waiters. */
  readonly contended: Set<Place> = new Set();
  readonly #context: LockBookContext;
  readonly #dirty = new Set<Place>();
  #live = false;
  /** Wall time of the last contact or of the last listing. It counts while the book is not live. */
  #asOfMs = 0;
  #size = 0;
  readonly #shared = new SharedValues();
  #scheduled = false;
  #listing = false;
  #unwatching = false;
  #foundIdentified = 0;
  #moment: Moment = { atMs: 0, provenance: "at-least" };

  constructor(context: LockBookContext) {
    this.#context = context;
  }

  get size(): number {
    return this.#size;
  }

  /** Whether every name is known and events arrive, so that a change is seen when it happens. */
  get live(): boolean {
    return this.#live;
  }

  resume(): void {
    this.#live = true;
  }

  /** The wall time up to which the book is valid: now, or the last contact. The age of a hold counts up to this time only. */
  get asOfMs(): number {
    return this.#live ? this.#context.runtime.wallMs() : this.#asOfMs;
  }

  /** Events no longer arrive, or may no longer arrive: the book shows the state of `atMs`, wall time. */
  pause(atMs: number): void {
    if (this.#live) this.#asOfMs = atMs;
    this.#live = false;
  }

  /** Runs `change`, whose changes come from listings. A listing does not show since when something is so. */
  listed<T>(change: () => T): T {
    this.#listing = true;
    this.#asOfMs = this.#context.runtime.wallMs();
    try {
      return change();
    } finally {
      this.#listing = false;
    }
  }

  /**
   * Runs `change`. The locks that it drops are no longer watched and may still be held, so no end of a hold is reported for
   * them.
   */
  unwatched(change: () => void): void {
    this.#unwatching = true;
    try {
      change();
    } finally {
      this.#unwatching = false;
    }
  }

  changing(place: Place): void {
    const lock = lockPlace(this.mirror, place);
    if (lock.dirty && (this.#listing || lock.size <= smallQueue)) {
      const listing = this.#listing;
      this.#listing = false;
      this.settle(lock);
      this.#listing = listing;
    }
  }

  changed(place: Place): void {
    if (place.size > 0) {
      place.emptySinceMs = null;
      place.self = null;
    }
    const lock = lockPlace(this.mirror, place);
    // When a parent turns out to be a semaphore, its parts are no longer locks of their own.
    if (lock !== place && place.isLock) this.#mark(place);
    const parent = this.mirror.get(parentOf(place.path));
    if (parent !== undefined && parent !== lock && (parent.isLock || isPart(place.path))) this.#mark(parent);
    this.#mark(lock);
    for (const part of ["locks", "leases"]) {
      if (!place.others.has(part)) continue;
      const below = this.mirror.get(joinPath(place.path, part));
      if (below?.isLock === true) this.#mark(below);
    }
  }

  removed(place: Place): void {
    this.#dirty.delete(place);
    this.#context.forget(place);
    this.suspicious.delete(place);
    this.contended.delete(place);
    for (const held of place.held) this.#released(place, held);
    place.held = noHolders;
    if (!place.isLock) return;
    place.isLock = false;
    this.#size -= 1;
    this.#context.emit({ type: "removed", key: place.path });
  }

  /** The data of a node has changed, so everything that was read of it is outdated. */
  dataChanged(path: string): void {
    const self = this.mirror.get(path);
    if (self?.self != null) {
      self.self = null;
      this.#context.wantSelf(self);
    }
    const parent = this.mirror.get(parentOf(path));
    if (parent === undefined) return;
    const lock = lockPlace(this.mirror, parent);
    if (lock.known?.delete(baseName(path)) === true) this.#mark(lock);
  }

  /** When this returns, listeners have been notified of all changes until now. */
  settleAll(): void {
    for (const place of this.#dirty) this.settle(place);
  }

  settle(place: Place): void {
    this.#dirty.delete(place);
    place.dirty = false;
    place.row = null;
    if (this.mirror.get(place.path) !== place) return;
    this.#forgetParts(place);
    const lone = loneContender(this.mirror, place);
    const found = lone === null ? recognisePlace(this.mirror, place) : null;
    const known = found !== null && isLockKind(found);
    this.#place(place, lone !== null || known);
    this.#hold(place, lone === null ? (known ? found.holders.map(({ name }) => name) : []) : [lone]);
    place.waiters = known ? found.waiters.length : 0;
    place.kind = lone === null ? (found?.kind ?? null) : loneKind(lone);
    place.waiterUnit = found === null ? "participants" : waiterUnitOf(found);
    place.oldestWait = known ? oldestWaitOf(found) : unknownMoment;
    place.oldestHold = known ? oldestHoldOf(found, place.held) : (place.held[0]?.since ?? unknownMoment);
    if (place.waiters > 0) this.contended.add(place);
    else this.contended.delete(place);
    this.#findings(place, known ? found.findings : []);
    if (place.size === 0) place.emptySinceMs ??= this.#context.runtime.wallMs();
    const isBlocked = blockersOf(place.path, place.findings ?? []).length > 0;
    const isAsked = place.attended || isBlocked || this.#hasStrangers(place);
    if (place.waiters > 0 || isAsked) this.#context.want(place);
    if (place.size === 0 && place.self === null && !place.denied && (!place.wasLock || place.attended)) {
      this.#context.wantSelf(place);
    }
    if (place.isLock) this.#context.emit({ type: "changed", key: place.path });
  }

  /** The nodes of holders and of the first waiters that have not been read. */
  nodesToRead(place: Place): NodeToRead[] {
    if (this.mirror.get(place.path) !== place) return [];
    const lone = loneContender(this.mirror, place);
    if (lone !== null) return place.known?.has(lone) === true ? [] : [childToRead(place, lone)];
    const found = recognisePlace(this.mirror, place);
    if (found === null) return place.size === 0 && place.self === null ? [nodeToRead(place, place.path)] : [];
    const most = { holders: shownHolders, waiters: place.attended ? shownWaiters : 1 };
    return [...nodePaths(found, most), ...blockersOf(place.path, found.findings)]
      .filter((path) => path !== place.path && place.known?.has(baseName(path)) !== true)
      .map((path) => nodeToRead(place, path));
  }

  got({ place, name }: NodeToRead, node: TreeNode | null): void {
    if (this.mirror.get(place.path) !== place) return;
    if (node === null) {
      // A foreign child that cannot be read is not asked for again at each change.
      if (name !== null && familyOf(name) === null && this.#isThere(place, name)) {
        place.known ??= new KnownNodes();
        place.known.set({ name, stat: null, data: null });
      }
      return;
    }
    if (name === null) {
      if (place.size > 0) return;
      place.self = node;
      this.changed(place);
      return;
    }
    if (!this.#isThere(place, name)) return;
    place.known ??= new KnownNodes();
    place.known.set(this.#shared.node(node));
    this.#compareToken(place, node);
    this.#identify(place, name);
    // Only the stats of nodes show that a read waits behind the write of its own session, and that a foreign child is older than
    // the first contender.
    if (place.waiters > 0 || familyOf(name) === null) this.#mark(place);
    place.row = null;
    if (place.isLock) this.#context.emit({ type: "changed", key: place.path });
  }

  /**
   * The row of a place. It is made anew each time, unless the queue is long or `keep` says that it is needed again before
   * the next change.
   */
  row(
    place: Place,
    keep: boolean = place.waiters > smallQueue || place.held.length > smallQueue,
  ): ObservedLock {
    const { row } = place;
    if (row !== null) return { ...row, readMs: this.asOfMs };
    const made = this.#makeRow(place);
    if (keep) place.row = made;
    return made;
  }

  isHeldBy(place: Place, text: string): boolean {
    if (!place.isLock) return false;
    // Of most locks only the names of their holders are known.
    const { held, known, self } = place;
    if (known === null && self === null) {
      for (let at = 0; at < held.length && at < shownInRow; at++)
        if (held[at]?.name.includes(text) === true) return true;
      return false;
    }
    return this.row(place).holders.some((holder) => isToldBy(holder, text));
  }

  *locks(): Generator<Place> {
    for (const place of this.mirror.places()) if (place.isLock) yield place;
  }

  #makeRow(place: Place): ObservedLock {
    const nowMs = this.asOfMs;
    const lone = loneContender(this.mirror, place);
    if (lone !== null && place.known?.has(lone) !== true) return loneRow(place, lone, nowMs);
    const tree = treeOf(this.mirror, place);
    if (tree === null) return emptyRow(place, null, nowMs);
    return treeRow(tree, recogniseTree(tree), place.held, nowMs);
  }

  #mark(place: Place): void {
    place.row = null;
    if (this.#listing) return this.settle(place);
    place.dirty = true;
    this.#dirty.add(place);
    if (this.#scheduled) return;
    this.#scheduled = true;
    queueMicrotask(() => {
      this.#scheduled = false;
      this.settleAll();
    });
  }

  #place(place: Place, recognised: boolean): void {
    if (recognised) place.wasLock = true;
    // A place that had contenders and has none is an idle lock. A place that turned out to be a level above locks is no lock.
    const idle = place.wasLock && place.size === 0;
    const isLock = recognised || idle || place.denied || isEmptyParent(place);
    if (isLock === place.isLock) return;
    place.isLock = isLock;
    this.#size += isLock ? 1 : -1;
    if (!isLock) this.#context.emit({ type: "removed", key: place.path });
  }

  #hold(place: Place, names: readonly string[]): void {
    const before = place.held;
    const only = names.length === 1 && before.length === 1 && before[0]?.name === names[0];
    if (only || (names.length === 0 && before.length === 0)) return;
    const known = new Map(before.map((held) => [held.name, held]));
    const wanted = new Set(names);
    for (const held of before) if (!wanted.has(held.name)) this.#released(place, held);
    place.held = names.map((name) => known.get(name) ?? this.#granted(place, name, before.length));
  }

  /** `heldBefore`: the number of holders until now. */
  #granted(place: Place, entry: string, heldBefore: number): Held {
    const nowMs = this.#context.runtime.wallMs();
    const owner = this.#ownerOf(place, entry);
    const told = { key: place.path, entry, ...(owner === null ? {} : { owner }) };
    if (!this.#live || this.#listing) {
      const since = this.#foundAt(place.path, entry, nowMs);
      this.#context.emit({ type: "found", ...told, since });
      const identify = this.#context.identifyHolders && this.#foundIdentified < mostFoundIdentified;
      if (identify) this.#foundIdentified += 1;
      return { name: entry, since, owner, identify };
    }
    const madeMs = place.known?.get(entry)?.stat?.ctime;
    // A lock without a holder and without waiters was granted in the moment of the request.
    const free = heldBefore === 0 && place.waiters === 0;
    const waitedMs = free ? 0 : madeMs === undefined ? null : Math.max(0, nowMs - Number(madeMs));
    this.#context.emit({
      type: "granted",
      ...told,
      atMs: nowMs,
      token: owner?.token ?? null,
      heldMs: null,
      exact: true,
      ...(waitedMs === null ? {} : { waitedMs }),
    });
    const since: Moment = { atMs: nowMs, provenance: "exact" };
    return { name: entry, since, owner, identify: this.#context.identifyHolders };
  }

  /**
   * When a hold was first seen: now, unless an earlier process saw the same node. Only a unique name shows that it is the
   * same.
   */
  #foundAt(path: string, entry: string, nowMs: number): Moment {
    const unique = parseProtectedName(entry) !== null || isKazooName(entry);
    const earlier = unique ? this.#context.earlierSight(path, entry) : undefined;
    if (earlier !== undefined && earlier.atMs < nowMs) return { atMs: earlier.atMs, provenance: "at-least" };
    if (this.#moment.atMs !== nowMs) this.#moment = { atMs: nowMs, provenance: "at-least" };
    return this.#moment;
  }

  #released(place: Place, { name, since, owner, identify }: Held): void {
    if (identify && since.provenance !== "exact") this.#foundIdentified -= 1;
    if (this.#unwatching) return this.#context.emit({ type: "unwatched", key: place.path, entry: name });
    const atMs = this.#context.runtime.wallMs();
    const seen = this.#live && !this.#listing;
    this.#context.emit({
      type: "released",
      key: place.path,
      entry: name,
      atMs,
      token: owner?.token ?? null,
      heldMs: seen ? heldForMs(since, atMs) : null,
      ...(seen ? {} : { end: "unknown" }),
      ...(owner === null ? {} : { owner }),
    });
  }

  /** The owner, as the holder's node shows it; `null` while the node has not been read. */
  #ownerOf(place: Place, name: string): HoldOwner | null {
    const node = place.known?.get(name);
    if (node?.stat == null) return null;
    const person = recognisePlace(this.mirror, place)?.holders.find((each) => each.name === name);
    if (person === undefined) return null;
    const { session, identity, token } = participantOf(person, node, null, null);
    return { session, identity, token };
  }

  #identify(place: Place, name: string): void {
    const held = place.held.find((each) => each.name === name && each.owner === null);
    if (held === undefined) return;
    held.owner = this.#ownerOf(place, name);
    if (held.owner !== null)
      this.#context.emit({ type: "identified", key: place.path, entry: name, owner: held.owner });
  }

  #hasStrangers({ held }: Place): boolean {
    return held.some(({ owner, identify }) => identify && owner === null);
  }

  #findings(place: Place, findings: readonly LayoutFinding[]): void {
    place.findings = findings.length === 0 ? null : findings;
    if (findings.length > 0) this.suspicious.add(place);
    else if (!place.tokenRegressed) this.suspicious.delete(place);
  }

  /** In a lock with one holder at a time, the node of each holder has a higher czxid than that of the holder before. */
  #compareToken(place: Place, node: TreeNode): void {
    const token = node.stat?.czxid;
    if (token === undefined || place.held.length !== 1 || place.held[0]?.name !== node.name) return;
    if (node.name.includes("__READ__") || node.name.includes("__WRIT__") || node.name.includes("lease-"))
      return;
    place.tokenRegressed = place.lastToken !== null && token < place.lastToken;
    if (place.tokenRegressed) this.suspicious.add(place);
    else place.lastToken = token;
  }

  /** The nodes of a semaphore are children of its parts, so their ends do not reach what is known of the place itself. */
  #forgetParts(place: Place): void {
    if (place.known === null || !place.others.has("leases")) return;
    for (const { name } of place.known.values()) if (!this.#isThere(place, name)) place.known.delete(name);
  }

  #isThere(place: Place, name: string): boolean {
    if (place.has(name)) return true;
    return ["locks", "leases"].some(
      (part) => place.others.has(part) && this.mirror.get(joinPath(place.path, part))?.has(name) === true,
    );
  }
}

export function isLockKind({ family, kind }: RecognisedTree): boolean {
  if (kind === null) return false;
  return family === null ? kind === "naive-mutex" : family !== "double-barrier" && kind !== "double-barrier";
}

export function isEmptyParent(place: Place): boolean {
  const stat = place.self?.stat;
  return stat != null && place.size === 0 && isEmptied(stat);
}

/** Whether a node has had children, has none now, and has no data of its own that would make it something else than a lock. */
export function isEmptied({ ephemeralOwner, cversion, numChildren, dataLength }: Stat): boolean {
  return ephemeralOwner === 0n && cversion > 0 && numChildren === 0 && dataLength === 0;
}

function isPart(path: string): boolean {
  return path.endsWith("/locks") || path.endsWith("/leases");
}
