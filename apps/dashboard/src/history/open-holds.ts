import type { Database, Statement } from "./database.js";
import type { HoldAddress, OpenHold, PastHold, SubjectKind } from "./messages.js";
import type { Pending } from "./pending.js";
import { addressName, addressNamed, cut, noOwner, OpenRecord, ownerName, ownerOfRow } from "./records.js";

const columns =
  "o.entry, o.owner, o.token, o.since_ms, o.exact, o.waited_ms, o.granted, s.cluster, s.backend, s.name";
const ofAll = `SELECT ${columns} FROM open_hold o JOIN subject s ON s.id = o.lock`;
/** The order of the joins is fixed: each of the few addresses is looked up among the many rows. */
const ofAddresses = `SELECT a.key AS at, ${columns} FROM json_each(?) AS a
  CROSS JOIN subject s ON s.kind = 0 AND s.cluster = a.value->>0 AND s.name = a.value->>1
  CROSS JOIN open_hold o ON o.lock = s.id AND o.entry = a.value->>2`;

type Named = Pick<HoldAddress, "cluster" | "key" | "entry">;

interface Near {
  /** `null` if it is not held. */
  record: OpenRecord | null;
  /** Whether the file has a row of it. */
  readonly stored: boolean;
}

/**
 * The holds that have not ended. The file has them, because there may be 200,000 and each would take 400 bytes in
 * memory. In memory are the holds that the present changes are about, and those that could not be written.
 */
export class OpenHolds {
  readonly #pending: Pending;
  readonly #ofAddresses: Statement;
  readonly #ofLock: Statement;
  readonly #near = new Map<string, Near>();
  /** The names of the holds that an earlier process left and that no change has reported to this process. */
  readonly #left = new Set<string>();
  #count: number;

  constructor(db: Database, pending: Pending) {
    this.#pending = pending;
    this.#ofAddresses = db.prepare(ofAddresses);
    this.#ofLock = db.prepare(`${ofAll} WHERE o.lock = ? AND o.since_ms < ? ORDER BY o.since_ms LIMIT ?`);
    for (const row of db.prepare(ofAll).iterate()) this.#left.add(addressName(addressOfRow(row)));
    this.#count = this.#left.size;
  }

  get count(): number {
    return this.#count;
  }

  /** Reads many holds at once that will be asked for. */
  load(addresses: readonly Named[]): void {
    const asked = addresses.filter((each) => !this.#near.has(addressName(each)));
    if (asked.length === 0) return;
    const found = this.#ofAddresses.all(
      JSON.stringify(asked.map(({ cluster, key, entry }) => [cluster, cut(key), cut(entry)])),
    );
    for (const each of asked) this.#near.set(addressName(each), { record: null, stored: false });
    for (const row of found) {
      const record = recordOfRow(asked[Number(row.at)] as Named, row);
      this.#near.set(record.name, { record, stored: true });
    }
  }

  get(name: string): OpenRecord | undefined {
    return this.#nearOf(name).record ?? undefined;
  }

  #nearOf(name: string): Near {
    // What was loaded is dropped after each write, and a write may come between two changes of a message.
    if (!this.#near.has(name)) this.load([addressNamed(name)]);
    return this.#near.get(name) as Near;
  }

  isLeft(name: string): boolean {
    return this.#left.has(name);
  }

  /** A change has reported a hold that an earlier process left. */
  met(name: string): void {
    this.#left.delete(name);
  }

  leftOf(cluster: string): string[] {
    const begin = `${cluster}\0`;
    return [...this.#left].filter((name) => name.startsWith(begin));
  }

  /** `lock` is the subject of the lock. */
  set(lock: number, record: OpenRecord): void {
    const { name } = record;
    const near = this.#nearOf(name);
    if (near.record === null) this.#count += 1;
    near.record = record;
    this.#pending.opened(lock, record);
  }

  end(lock: number, { name, address }: OpenRecord): void {
    this.#left.delete(name);
    const near = this.#nearOf(name);
    if (near.record === null) return;
    near.record = null;
    this.#count -= 1;
    if (near.stored) this.#pending.closed(name, lock, address.entry);
    else this.#pending.neverOpened(name);
  }

  /** The holds of a lock that began before a moment, including those that could not be written. */
  ofLock(lock: number, { cluster, key }: Omit<Named, "entry">, beforeMs: number, limit: number): PastHold[] {
    const records: OpenRecord[] = [];
    for (const row of this.#ofLock.all(lock, beforeMs, limit)) {
      const record = recordOfRow({ cluster, key, entry: String(row.entry) }, row);
      if (!this.#near.has(record.name)) records.push(record);
    }
    const begin = addressName({ cluster, key, entry: "" });
    for (const { record } of this.#near.values()) {
      if (record === null || record.sinceMs === null || record.sinceMs >= beforeMs) continue;
      if (record.name.startsWith(begin)) records.push(record);
    }
    return records.slice(0, limit).map(({ address: { entry }, owner, sinceMs, exact, waitedMs }) => ({
      ...{ entry, owner: owner ?? noOwner, sinceMs, exact, waitedMs },
      ...{ endMs: null, reason: null, heldMs: null },
    }));
  }

  /** After a write: drops from memory what the file has now. */
  settle(): void {
    for (const name of this.#near.keys()) if (!this.#pending.hasOpen(name)) this.#near.delete(name);
  }
}

/** The holds that had not ended when the process before wrote last. */
export function leftHolds(db: Database): OpenHold[] {
  const left: OpenHold[] = [];
  for (const row of db.prepare(ofAll).iterate()) {
    const token = typeof row.token === "string" ? row.token : null;
    left.push({ ...addressOfRow(row), sinceMs: Number(row.since_ms), token });
  }
  return left;
}

/** The holds of one subject that have not ended. */
export interface OpenSum {
  count: number;
  /** The time held within the window. */
  heldMs: number;
  longestMs: number;
}

/**
 * Sums open holds by subjects of one kind, of all clusters and groups if none is given. `ownerId` gives the subject of
 * an owner, by its name.
 */
export function sumOpen(
  db: Database,
  asked: { readonly kind: SubjectKind; readonly cluster: string | null; readonly group: string | null },
  window: { readonly fromMs: number; readonly nowMs: number },
  ownerId: (cluster: string, name: string) => number | null,
): Map<number, OpenSum> {
  const { kind, cluster, group } = asked;
  const sums = new Map<number, OpenSum>();
  // An owner is in no group.
  if (kind === "owner" && group !== null) return sums;
  const by = { lock: "o.lock", group: "s.grp", owner: "s.cluster, o.owner" }[kind];
  // The subject of each hold is not looked up if only its number is needed.
  const joined =
    kind === "lock" && cluster === null && group === null ? "" : "JOIN subject s ON s.id = o.lock";
  const conditions = [
    ...(cluster === null ? [] : ["s.cluster = ?3"]),
    ...(group === null ? [] : ["s.grp IN (SELECT id FROM subject WHERE kind = 1 AND name = ?4)"]),
  ];
  const rows = db
    .prepare(
      `SELECT ${kind === "owner" ? by : `${by} AS subject`}, count(*) AS count,
         sum(max(0, ?1 - max(o.since_ms, ?2))) AS held, min(o.since_ms) AS since
       FROM open_hold o ${joined} ${conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`} GROUP BY ${by}`,
    )
    .iterate(window.nowMs, window.fromMs, cluster, group);
  for (const row of rows) {
    const owner = kind === "owner" ? ownerOfRow(row) : null;
    const name = owner === null ? null : ownerName(owner);
    const subject = kind === "owner" ? name && ownerId(String(row.cluster), name) : row.subject;
    if (subject === null) continue;
    const id = Number(subject);
    const sum = sums.get(id) ?? { count: 0, heldMs: 0, longestMs: 0 };
    sums.set(id, sum);
    sum.count += Number(row.count);
    sum.heldMs += Number(row.held);
    sum.longestMs = Math.max(sum.longestMs, window.nowMs - Number(row.since));
  }
  return sums;
}

type Row = Readonly<Record<string, unknown>>;

function addressOfRow(row: Row): Named {
  return { cluster: String(row.cluster), key: String(row.name), entry: String(row.entry) };
}

function recordOfRow({ cluster, key, entry }: Named, row: Row): OpenRecord {
  const backend = row.backend === "redis" ? "redis" : "zookeeper";
  return new OpenRecord(
    { cluster, backend, key, entry },
    {
      owner: ownerOfRow(row),
      sinceMs: Number(row.since_ms),
      exact: row.exact === 1,
      waitedMs: row.waited_ms === null ? null : Number(row.waited_ms),
      granted: row.granted === 1,
    },
  );
}
