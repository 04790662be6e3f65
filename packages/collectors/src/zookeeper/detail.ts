import { formatSessionId, joinPath, type Stat } from "@holdfast/zk-protocol";
import {
  type BareTree,
  listTree,
  type RecognisedTree,
  readPeople,
  recogniseTree,
  withBlockers,
  type ZooKeeperSession,
} from "@holdfast/zk-recipes/internal";
import type { ObservedLockDetail } from "../observe/observed-lock.js";
import { isEmptied, isLockKind, type LockBook } from "./lock-book.js";
import { participantOf, tokenText } from "./participants.js";
import { type Held, noHolders, type Place } from "./place.js";
import { emptyRow, nodesOf, treeRow } from "./rows.js";
import { shownText } from "./shown-text.js";

/** One lock as it is at the server now, with the nodes of all holders and of the first waiters. */
export interface FreshLock {
  readonly tree: BareTree;
  readonly found: RecognisedTree;
}

const shownHolders = 100;
const looks = 3;

/** The number of participants whose nodes are read. Default for holders: as many as are shown. */
export interface MostRead {
  readonly maxWaiters: number;
  readonly maxHolders?: number;
  /** Ends the reading: after it was aborted, no further node is asked for. */
  readonly signal?: AbortSignal | undefined;
}

/** The lock as it is now; `null` when there is no lock at the path. Rejects as `listTree` does. */
export async function readLock(
  session: ZooKeeperSession,
  { mirror }: LockBook,
  path: string,
  most: MostRead,
): Promise<FreshLock | null> {
  const fresh = await readFresh(session, path, most, mirror.isNaive);
  return fresh !== null && isOfLock(fresh, mirror.get(path)) ? fresh : null;
}

/** `null` when there is no such node. A lone ephemeral node counts as a holder only where `isNaive` is true for its path. */
async function readFresh(
  session: ZooKeeperSession,
  path: string,
  { maxWaiters, maxHolders = shownHolders, signal }: MostRead,
  isNaive: (path: string) => boolean,
): Promise<FreshLock | null> {
  for (let look = 1; ; look++) {
    const fresh = await readOnce(session, path, { maxWaiters, maxHolders, signal });
    if (fresh === null) return null;
    if (fresh.found.kind === "naive-mutex" && !isNaive(path))
      return { tree: fresh.tree, found: { ...fresh.found, kind: null, holders: [] } };
    // The contender that was listed first may have gone before its node was read. Then another contender holds now: read
    // again.
    const missed = fresh.found.holders.slice(0, maxHolders).some(({ session }) => session === null);
    if (!missed || look === looks) return fresh;
  }
}

async function readOnce(
  session: ZooKeeperSession,
  path: string,
  { maxWaiters, maxHolders, signal }: Required<MostRead>,
): Promise<FreshLock | null> {
  const listed = await listTree(session, { kind: "mutex", lockName: path, path });
  if (listed.stat === null) return null;
  const own = listed.children.length === 0;
  const data = own && listed.data === null ? null : listed.data;
  const names = recogniseTree({ ...listed, data });
  const wanted = [...names.holders.slice(0, maxHolders), ...names.waiters.slice(0, maxWaiters)];
  const paths = wanted.map((person) => person.path).filter((each) => each !== path);
  const tree = await readPeople(session, { ...listed, data }, paths, signal);
  const whole = await withBlockers(session, tree, names.findings);
  return { tree: whole, found: recogniseTree(whole) };
}

/** Whether this is a lock, or the empty place of one. Any other node of the tree is neither shown nor acted upon. */
function isOfLock({ tree, found }: FreshLock, place: Place | undefined): boolean {
  if (isLockKind(found) || place?.isLock === true) return true;
  return tree.stat !== null && isEmptied(tree.stat);
}

export function detailOf(
  { tree, found }: FreshLock,
  book: LockBook,
  maxWaiters: number,
  nowMs: number,
): ObservedLockDetail {
  const place = book.mirror.get(tree.path);
  const held: readonly Held[] = place?.held ?? noHolders;
  const nodes = nodesOf(tree);
  const waiters = found.waiters
    .slice(0, maxWaiters)
    .map((person, at) => participantOf(person, nodes.get(person.name), at, null));
  const row = treeRow(tree, found, held, nowMs);
  const since = new Map(held.map((each) => [each.name, each.since]));
  return {
    ...row,
    denied: place?.denied === true ? emptyRow(place, null, nowMs).denied : null,
    holders: found.holders
      .slice(0, shownHolders)
      .map(
        (person, at) =>
          row.holders[at] ??
          participantOf(person, nodes.get(person.name), null, since.get(person.name) ?? null),
      ),
    waiters,
    raw: rawOf(tree, found, maxWaiters),
    explain: explain(found),
  };
}

function rawOf(
  tree: BareTree,
  found: RecognisedTree,
  maxWaiters: number,
): { readonly name: string; readonly value: string }[] {
  const nodes = nodesOf(tree);
  const own = tree.stat === null ? [] : [{ name: tree.path, value: statText(tree.stat) }];
  const people = [...found.holders.slice(0, shownHolders), ...found.waiters.slice(0, maxWaiters)];
  return [
    ...own,
    ...people.flatMap(({ path, name }) => {
      const node = nodes.get(name);
      if (node?.stat == null || path === tree.path) return [];
      const data = node.data === null ? "null" : JSON.stringify(shownText(node.data));
      return [{ name: path, value: `${statText(node.stat)} data=${data}` }];
    }),
    ...["locks", "leases"].flatMap((part) => {
      const stat = part === "locks" ? tree.locks?.stat : tree.leases?.stat;
      return stat == null ? [] : [{ name: joinPath(tree.path, part), value: statText(stat) }];
    }),
  ];
}

function statText(stat: Stat): string {
  const times = `czxid=${tokenText(stat.czxid)} ctime=${stat.ctime} mzxid=${tokenText(stat.mzxid)} mtime=${stat.mtime}`;
  const counts = `version=${stat.version} cversion=${stat.cversion} aversion=${stat.aversion}`;
  const owner = stat.ephemeralOwner === 0n ? "none" : formatSessionId(stat.ephemeralOwner);
  return `${times} ${counts} ephemeralOwner=${owner} dataLength=${stat.dataLength} numChildren=${stat.numChildren}`;
}

function explain({ kind, guessed }: RecognisedTree): string[] {
  const lines = [
    "Holders and queue: from the names of the children, in the order in which the recipe grants.",
    "Waiting since: ctime of the waiter's node, by the servers' clock.",
    "Token: czxid of the holder's node.",
    "Held since: exact where the collector has seen the one before go or the holder come; otherwise at least since the collector first saw it. The backend does not keep it.",
    "Session: owner of the ephemeral node. Two threads of one process look the same.",
  ];
  if (guessed) lines.push("Kind: a guess, as the node alone does not tell.");
  if (kind === "semaphore") {
    lines.push(
      "Permits: the nodes below `leases`. Curator keeps the limit in its clients, so it is not known, and one lease more than the limit may be there while the head of the queue waits.",
    );
  }
  if (kind === "naive-mutex") lines.push("Waiters: they have no nodes, so they cannot be seen.");
  return lines;
}
