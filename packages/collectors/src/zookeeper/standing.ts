import { baseName, joinPath, parentOf } from "@holdfast/zk-protocol";
import {
  type BareTree,
  familyOf,
  isContender,
  latchBase,
  leaseBase,
  mutexBase,
  type RecognisedTree,
  readBase,
  recogniseTree,
  sequenceOf,
  sequenceWarnFrom,
  type TreeBranch,
  type TreeNode,
  writeBase,
} from "@holdfast/zk-recipes/internal";
import { isKazooId, type Place } from "./place.js";
import type { TreeMirror } from "./tree-mirror.js";

/** The most foreign children of one lock that are looked at. */
const maxForeign = 200;
/** A place with more children than this that have names like kazoo's members is a level above locks. */
const maxMembers = 1_000;
/** The most children of `leases` that are checked for being leases. */
const maxProbed = 50;

/** The tree of a place as far as it is in memory, from which its kind is recognised; `null` when the place is no lock. */
export function treeOf(mirror: TreeMirror, place: Place): BareTree | null {
  const branches = semaphoreBranches(mirror, place);
  if (branches !== null) {
    const { locks, leases } = branches;
    return {
      ...bare(place),
      children: names(place, place.others),
      locks: branch(place, locks),
      leases: branch(place, leases),
    };
  }
  if (isBranch(mirror, place)) return null;
  if (place.numbered.size > 0) {
    return { ...bare(place), children: [...names(place, place.numbered), ...foreign(place)] };
  }
  const members = kazooMembers(mirror, place);
  if (members.length > 0) return { ...bare(place), children: members };
  if (place.size === 0 && isLoneLock(mirror, place)) {
    return { ...bare(place), stat: place.self?.stat ?? null, data: place.self?.data ?? null };
  }
  return null;
}

/**
 * The place of the lock that `place` is part of: itself, the semaphore whose queue or permits it is, or the parent of
 * kazoo's members.
 */
export function lockPlace(mirror: TreeMirror, place: Place): Place {
  const parent = mirror.get(parentOf(place.path));
  if (parent === undefined || parent === place) return place;
  const name = baseName(place.path);
  if ((name === "locks" || name === "leases") && semaphoreBranches(mirror, parent) !== null) return parent;
  return isKazooId(name) && place.size === 0 && place.self !== null ? parent : place;
}

/**
 * The name of the only contender of a place without foreign children. Nearly every lock is like this, and nothing else must
 * be found out.
 */
export function loneContender(mirror: TreeMirror, place: Place): string | null {
  if (place.numbered.size !== 1 || place.others.size > 0 || isBranch(mirror, place)) return null;
  const name = place.numbered.first() as string;
  const family = familyOf(name);
  if (family === "semaphore" || family === null) return null;
  const sequence = sequenceOf(name, mutexBase, readBase, writeBase, latchBase) ?? 0;
  return sequence < 0 || sequence >= sequenceWarnFrom ? null : name;
}

export function recognisePlace(mirror: TreeMirror, place: Place): RecognisedTree | null {
  const tree = treeOf(mirror, place);
  return tree === null ? null : recogniseTree(tree);
}

/** The paths at which the nodes of participants are read. */
export function nodePaths(tree: RecognisedTree, most: { holders: number; waiters: number }): string[] {
  return [...tree.holders.slice(0, most.holders), ...tree.waiters.slice(0, most.waiters)].map(
    ({ path }) => path,
  );
}

interface Branches {
  readonly locks: Place | undefined;
  readonly leases: Place | undefined;
}

/**
 * The two parts of a semaphore; `null` for any other place. A semaphore has `leases`, which contains leases, or is empty and
 * has `locks` beside it. Either name alone may as well be a level above other locks.
 */
function semaphoreBranches(mirror: TreeMirror, place: Place): Branches | null {
  if (!place.others.has("leases")) return null;
  const [locks, leases] = ["locks", "leases"].map((name) => mirror.get(joinPath(place.path, name)));
  const fits = leases === undefined || leases.size === 0 ? place.others.has("locks") : hasLease(leases);
  return fits ? { locks, leases } : null;
}

function hasLease(leases: Place): boolean {
  let probed = 0;
  for (const name of leases.numbered) {
    if (isContender(name, leaseBase)) return true;
    if (++probed > maxProbed) return false;
  }
  return false;
}

function isBranch(mirror: TreeMirror, place: Place): boolean {
  const name = baseName(place.path);
  if (name !== "locks" && name !== "leases") return false;
  const parent = mirror.get(parentOf(place.path));
  return parent !== undefined && semaphoreBranches(mirror, parent) !== null;
}

/** Children whose name is a bare id are members only if they are ephemeral, because a lock may have such a name too. */
function kazooMembers(mirror: TreeMirror, place: Place): TreeNode[] {
  const members: TreeNode[] = [];
  if (place.ids === 0 || place.ids > maxMembers) return members;
  for (const name of place.others) {
    if (!isKazooId(name)) continue;
    const self = mirror.get(joinPath(place.path, name))?.self;
    if (self?.stat != null && self.stat.ephemeralOwner !== 0n) members.push({ ...self, name });
  }
  if (members.length > 0 && place.others.has("ready")) return [];
  return members;
}

function isLoneLock(mirror: TreeMirror, place: Place): boolean {
  const stat = place.self?.stat;
  if (stat == null || stat.ephemeralOwner === 0n || !mirror.isNaive(place.path)) return false;
  const name = baseName(place.path);
  // These are no locks: members of kazoo's recipes and of barriers, and foreign children of a lock.
  if (isKazooId(name) || familyOf(name) !== null) return false;
  const parent = mirror.get(parentOf(place.path));
  return parent === undefined || parent.numbered.size === 0;
}

function bare(place: Place): BareTree {
  return { path: place.path, stat: null, data: null, children: [] };
}

function branch(lock: Place, part: Place | undefined): TreeBranch {
  if (part === undefined) return { stat: null, children: [] };
  return { stat: null, children: names(lock, part.names()) };
}

function names(lock: Place, from: Iterable<string>): TreeNode[] {
  const nodes: TreeNode[] = [];
  for (const name of from) nodes.push(lock.known?.get(name) ?? { name, stat: null, data: null });
  return nodes;
}

function foreign(place: Place): TreeNode[] {
  const nodes: TreeNode[] = [];
  for (const name of place.others) {
    if (nodes.length === maxForeign) break;
    nodes.push(place.known?.get(name) ?? { name, stat: null, data: null });
  }
  return nodes;
}
