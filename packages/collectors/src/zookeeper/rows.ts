import type { PrimitiveKind } from "@holdfast/core";
import {
  type BareTree,
  familyOf,
  isKazooName,
  kindOf,
  parseProtectedName,
  type RecognisedTree,
  type TreeNode,
} from "@holdfast/zk-recipes/internal";
import { earliest, unknownMoment } from "../kit/moment.js";
import { participant } from "../kit/participant.js";
import type { Moment, ObservedLock, ObservedParticipant } from "../observe/observed-lock.js";
import { highest } from "./highest.js";
import { libraryOf, participantOf, tokenText } from "./participants.js";
import type { Held, Place } from "./place.js";
import { heldVersion, idleVersion } from "./versions.js";

/** The most holders that a row shows; its `holderCount` counts all. */
export const shownInRow = 5;
const none: readonly ObservedParticipant[] = [];
type LibraryByName = "kazoo" | "curator-or-holdfast" | "unknown";
/** One list for each library, which 100,000 rows share. */
const onlyOne: Readonly<Record<LibraryByName, readonly LibraryByName[]>> = {
  kazoo: ["kazoo"],
  "curator-or-holdfast": ["curator-or-holdfast"],
  unknown: ["unknown"],
};

/** The library that made a node, as far as its name shows it. */
export function libraryByName(name: string): LibraryByName {
  if (isKazooName(name)) return "kazoo";
  return parseProtectedName(name) === null ? "unknown" : "curator-or-holdfast";
}

/** The row of a lock with one contender, of which only the name is known. */
export function loneRow(place: Place, name: string, readMs: number): ObservedLock {
  const reads = isRead(name);
  const library = libraryByName(name);
  const since = place.held[0]?.since ?? unknownMoment;
  const holder = participant({ entry: name, mode: reads ? "shared" : "exclusive", since, library });
  return {
    key: place.path,
    backend: "zookeeper",
    kind: loneKind(name),
    libraries: onlyOne[library],
    state: "held",
    holders: [holder],
    holderCount: 1,
    waiterCount: 0,
    waiterUnit: "participants",
    oldestWait: unknownMoment,
    oldestHold: since,
    token: null,
    limit: null,
    version: heldVersion([{ name, token: null }]),
    readMs,
    denied: null,
  };
}

/** The kind of a lock by the name of its only contender. */
export function loneKind(name: string): PrimitiveKind | null {
  const family = familyOf(name);
  if (family === null) return null;
  return family === "kazoo" && isRead(name) ? "read-write-lock" : kindOf(family);
}

function isRead(name: string): boolean {
  return name.includes("__READ__") || name.includes("__rlock__");
}

/** The row of a lock that has neither holders nor waiters, or that cannot be read. */
export function emptyRow(place: Place, kind: PrimitiveKind | null, readMs: number): ObservedLock {
  return {
    key: place.path,
    backend: "zookeeper",
    kind,
    libraries: [],
    state: "idle",
    holders: none,
    holderCount: 0,
    waiterCount: 0,
    waiterUnit: "participants",
    oldestWait: unknownMoment,
    oldestHold: unknownMoment,
    token: null,
    limit: null,
    version: idleVersion(place.self?.stat?.cversion ?? null),
    readMs,
    denied: place.denied ? `the right to read (READ) the children of ${place.path} is missing` : null,
  };
}

/** `held`: the holders with the start of each hold, where it is known. */
export function treeRow(
  tree: BareTree,
  found: RecognisedTree,
  held: readonly Held[],
  readMs: number,
): ObservedLock {
  const nodes = nodesOf(tree);
  const since = new Map(held.map((each) => [each.name, each.since]));
  const holders = found.holders
    .slice(0, shownInRow)
    .map((person) => participantOf(person, nodes.get(person.name), null, holdSince(found, person, since)));
  const people = [...found.holders, ...found.waiters];
  const tokens = found.holders.flatMap(({ token }) => (token === null ? [] : [token]));
  const idle = people.length === 0;
  return {
    key: tree.path,
    backend: "zookeeper",
    kind: found.kind,
    libraries: [...new Set(people.map(({ recognisedAs }) => libraryOf(recognisedAs)))],
    state: found.waiters.length > 0 ? "contended" : found.holders.length > 0 ? "held" : "idle",
    holders,
    holderCount: found.holders.length,
    waiterCount: found.waiters.length,
    waiterUnit: waiterUnitOf(found),
    oldestWait: oldestWaitOf(found),
    oldestHold: oldestHoldOf(found, held),
    token: tokens.length === 0 ? null : tokenText(highest(tokens)),
    limit: found.kind === "semaphore-mutex" ? 1 : null,
    version: idle
      ? idleVersion(tree.leases === undefined ? (tree.stat?.cversion ?? null) : null)
      : heldVersion(found.holders),
    readMs,
    denied: null,
  };
}

export function waiterUnitOf({ kind }: RecognisedTree): ObservedLock["waiterUnit"] {
  return kind === "naive-mutex" ? "hidden" : "participants";
}

export function oldestWaitOf({ waiters: [first] }: RecognisedTree): Moment {
  return first === undefined || first.sinceMs === null
    ? unknownMoment
    : { atMs: first.sinceMs, provenance: "exact" };
}

export function oldestHoldOf(found: RecognisedTree, held: readonly Held[]): Moment {
  const since = new Map(held.map((each) => [each.name, each.since]));
  return oldest(found.holders.map((person) => holdSince(found, person, since) ?? unknownMoment));
}

/** The nodes of all parts of a tree, by name. */
export function nodesOf(tree: BareTree): Map<string, TreeNode> {
  const all = [...tree.children, ...(tree.locks?.children ?? []), ...(tree.leases?.children ?? [])];
  const nodes = new Map(all.map((node) => [node.name, node]));
  if (tree.stat !== null && all.length === 0) {
    const name = tree.path.slice(tree.path.lastIndexOf("/") + 1);
    nodes.set(name, { name, stat: tree.stat, data: tree.data });
  }
  return nodes;
}

/** When a hold began. The client that makes the node of a naive mutex holds from that moment on. */
function holdSince(
  found: RecognisedTree,
  person: { readonly name: string; readonly sinceMs: number | null },
  since: ReadonlyMap<string, Moment>,
): Moment | null {
  if (found.kind === "naive-mutex" && person.sinceMs !== null) {
    return { atMs: person.sinceMs, provenance: "exact" };
  }
  return since.get(person.name) ?? null;
}

/** The oldest of the moments. Where one of them is unknown, the oldest of the others is only a bound. */
function oldest(moments: readonly Moment[]): Moment {
  const first = earliest(moments);
  const sure = moments.every(({ provenance }) => provenance === "exact");
  return first.atMs === null || sure ? first : { atMs: first.atMs, provenance: "at-least" };
}
