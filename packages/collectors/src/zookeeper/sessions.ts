import { baseName, formatSessionId, joinPath, parentOf } from "@holdfast/zk-protocol";
import { readIdentity, type ZooKeeperSession } from "@holdfast/zk-recipes/internal";
import { unknownMoment } from "../kit/moment.js";
import type { ObservedSession } from "../observe/observed-lock.js";
import type { BulkReads } from "./bulk-reads.js";
import { type Connections, readEphemerals, type ServerConnection } from "./connections.js";
import type { LockBook } from "./lock-book.js";
import type { Settings } from "./options.js";
import type { SessionContacts } from "./session-contacts.js";
import { lockPlace } from "./standing.js";

/**
 * With up to this many locks, the session of each holder and waiter is found out; with more, only of those in contended
 * locks.
 */
const mostLocks = 20_000;
const mostReads = 5_000;

interface Owned {
  readonly holds: string[];
  readonly waits: string[];
  identity: ObservedSession["identity"];
}

/**
 * The sessions that take part in a lock or are connected to a server. AdminServers or four-letter words list them; without
 * these, only the owners of nodes show them.
 */
export async function readSessions(
  settings: Settings,
  session: ZooKeeperSession,
  book: LockBook,
  reads: BulkReads,
  contacts: SessionContacts,
): Promise<
  Pick<Connections, "silent" | "openAdmins"> & {
    readonly unnamed: number | null;
    readonly sessions: ObservedSession[];
  }
> {
  // One after the other: the first question finds out whether the AdminServer's port is silent, and only then is the second
  // spared that wait. Both waits together would take longer than the page of the sessions allows.
  const connections = await contacts.read(settings, session);
  const dumped = book.size <= mostLocks ? await readEphemerals(settings) : null;
  const owned = new Map<string, Owned>();
  for (const place of book.locks()) {
    for (const node of place.known?.values() ?? []) {
      const identity = readIdentity(node.data);
      const owner = node.stat?.ephemeralOwner ?? 0n;
      if (identity !== null && owner !== 0n) ownedBy(owned, formatSessionId(owner)).identity = identity;
    }
  }
  if (dumped === null) await readOwners(book, reads, owned);
  else {
    for (const [owner, paths] of dumped) {
      for (const path of paths) file(book, owned, owner, path);
      // A session that takes part in no lock of ours is of no interest unless it is connected.
    }
  }
  return {
    sessions: joined(connections, owned, contacts, settings.runtime.wallMs()),
    silent: connections.silent,
    openAdmins: connections.openAdmins,
    unnamed: connections.unnamed,
  };
}

/**
 * Finds the owners from the stats of nodes: first of contended locks, then of all other locks while there are not too many.
 */
async function readOwners(book: LockBook, reads: BulkReads, owned: Map<string, Owned>): Promise<void> {
  const paths: string[] = [];
  for (const contended of [true, false]) {
    for (const place of book.locks()) {
      if (place.waiters > 0 !== contended) continue;
      if (paths.length >= mostReads || (!contended && book.size > mostLocks)) break;
      paths.push(...participantPaths(book, place.path));
    }
  }
  await reads.nodes(paths.slice(0, mostReads), (path, result) => {
    if (!("stat" in result) || result.stat.ephemeralOwner === 0n) return;
    const session = formatSessionId(result.stat.ephemeralOwner);
    file(book, owned, session, path);
    const identity = readIdentity(result.data);
    if (identity !== null) ownedBy(owned, session).identity = identity;
  });
}

function participantPaths(book: LockBook, path: string): string[] {
  const place = book.mirror.get(path);
  if (place === undefined) return [];
  if (place.size === 0) return place.held.length === 0 ? [] : [path];
  const parts = [place, ...["locks", "leases"].map((part) => book.mirror.get(joinPath(path, part)))];
  return parts.flatMap((part) =>
    part === undefined ? [] : [...part.numbered].map((name) => joinPath(part.path, name)),
  );
}

function file(book: LockBook, owned: Map<string, Owned>, session: string, path: string): void {
  const itself = book.mirror.get(path);
  const parent = book.mirror.get(parentOf(path));
  const lock =
    itself?.isLock === true ? itself : parent === undefined ? undefined : lockPlace(book.mirror, parent);
  if (lock?.isLock !== true) return;
  const name = baseName(path);
  const isHeld = lock.held.some((held) => held.name === name);
  if (!isHeld && lock !== itself && !isContender(book, parent?.path ?? "", name)) return;
  const entry = ownedBy(owned, session);
  (isHeld ? entry.holds : entry.waits).push(lock.path);
}

function isContender(book: LockBook, parent: string, name: string): boolean {
  return book.mirror.get(parent)?.numbered.has(name) === true;
}

function ownedBy(owned: Map<string, Owned>, session: string): Owned {
  let entry = owned.get(session);
  if (entry === undefined) {
    entry = { holds: [], waits: [], identity: null };
    owned.set(session, entry);
  }
  return entry;
}

function joined(
  { connections }: Connections,
  owned: ReadonlyMap<string, Owned>,
  contacts: SessionContacts,
  nowMs: number,
): ObservedSession[] {
  const latest = new Map<string, number>();
  for (const { server, lastResponse } of connections) {
    if (lastResponse !== null) latest.set(server, Math.max(latest.get(server) ?? 0, lastResponse));
  }
  const byId = new Map(connections.map((connection) => [connection.session, connection]));
  const ids = new Set([...byId.keys(), ...owned.keys()]);
  return [...ids].map((id) => {
    const connection = byId.get(id);
    const { holds = [], waits = [], identity = null } = owned.get(id) ?? {};
    const { state, timeoutMs } = contacts.of(id, nowMs);
    return {
      id,
      backend: "zookeeper",
      server: connection?.server ?? null,
      address: connection?.address ?? null,
      identity,
      timeoutMs,
      established:
        connection?.establishedMs == null
          ? unknownMoment
          : { atMs: connection.establishedMs, provenance: "exact" },
      lastSeen: lastSeen(connection, latest, nowMs),
      holds: [...new Set(holds)],
      waits: [...new Set(waits)],
      state,
    };
  });
}

/**
 * The server's clock for responses is monotonic and starts anywhere. So the time is counted back from the server's latest
 * response to any client, which was itself some moments ago. The true time may be earlier by that much.
 */
function lastSeen(
  connection: ServerConnection | undefined,
  latest: ReadonlyMap<string, number>,
  nowMs: number,
): ObservedSession["lastSeen"] {
  if (connection === undefined || connection.lastResponse === null) return unknownMoment;
  const behind = (latest.get(connection.server) ?? connection.lastResponse) - connection.lastResponse;
  return { atMs: nowMs - behind, provenance: "at-least" };
}
