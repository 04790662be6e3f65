import {
  bytesOf,
  closeDatabase,
  type Database,
  failureWords,
  numberOf,
  type OpenedDatabase,
} from "./database.js";
import {
  type Change,
  type EndReason,
  endReasons,
  type HoldAddress,
  type KnownOwner,
  type StoreStatus,
} from "./messages.js";
import { OpenHolds } from "./open-holds.js";
import { Pending } from "./pending.js";
import {
  addressName,
  addressNamed,
  cut,
  isLoss,
  OpenRecord,
  ownerName,
  ownerText,
  tokenText,
} from "./records.js";
import { type Level, levelMs, type ReadTallies, readTallies } from "./stretches.js";
import { Subjects } from "./subjects.js";
import { bucketOf, countIn, Tally } from "./tally.js";
import { trimStep } from "./trim.js";

const mostOpen = 200_000;
const mostTallies = 200_000;
/** How long after a hold has ended its reason may still become known. */
const explainedWithinMs = 60_000;
const mostExplainable = 20_000;
/** The most rows that one change makes. */
const rowsPerChange = 8;
/** The most steps of deleting between two writes. */
const stepsAtOnce = 20;

const mostPeople = 20_000;
const levels: readonly Level[] = [0, 1];

const neverSeen = { owner: null, sinceMs: null, exact: false, waitedMs: null, granted: false };

interface Ended {
  readonly id: number;
  readonly atMs: number;
  readonly lost: boolean;
  readonly address: HoldAddress;
  readonly owner: KnownOwner | null;
}

/**
 * All that the worker knows. Only this class writes the file. What has happened goes into memory at once, and from
 * there into the file, in transactions that its log has room for. While the file cannot be written, what waits is
 * bounded and the rest is counted.
 */
export class Ledger {
  readonly db: Database;
  readonly open: OpenHolds;
  readonly #file: string;
  readonly #opened: OpenedDatabase;
  /** The tallies of the running stretches. */
  readonly #tallies: readonly [Map<number, Tally>, Map<number, Tally>] = [new Map(), new Map()];
  readonly #starts: [number, number] = [0, 0];
  readonly subjects: Subjects;
  readonly #ended = new Map<string, Ended>();
  /** By session: its owner, once that became known. */
  readonly #people = new Map<string, KnownOwner>();
  readonly #pending: Pending;
  #nextHold: number;
  #dropped = 0;
  #failure: string | null = null;
  /** The state of the file when it was last readable. */
  #stored: Pick<StoreStatus, "usedBytes" | "holdsSinceMs" | "hoursSinceMs"> = {
    usedBytes: 0,
    holdsSinceMs: null,
    hoursSinceMs: null,
  };

  constructor(file: string, opened: OpenedDatabase, groupOf: (key: string) => string, nowMs: number) {
    this.#file = file;
    this.#opened = opened;
    this.db = opened.db;
    this.#pending = new Pending(this.db);
    this.subjects = new Subjects(this.db, this.#pending, groupOf, nowMs);
    this.#nextHold = numberOf(this.db, "SELECT max(id) FROM hold") + 1;
    this.open = new OpenHolds(this.db, this.#pending);
    for (const level of levels) {
      const start = nowMs - (nowMs % levelMs[level]);
      this.#begin(level, start, this.#storedOf(level, start));
    }
  }

  get status(): StoreStatus {
    const momentOf = (sql: string): number | null => numberOf(this.db, sql) || null;
    try {
      this.#stored = {
        usedBytes: bytesOf(this.#file),
        holdsSinceMs: momentOf("SELECT end_ms FROM hold ORDER BY id LIMIT 1"),
        hoursSinceMs: momentOf("SELECT min(start) FROM stat WHERE level = 2"),
      };
    } catch (error) {
      this.#failure = failureWords(error);
    }
    return {
      ...this.#stored,
      maxBytes: this.#opened.maxBytes,
      dropped: this.#dropped,
      failure: this.#failure,
    };
  }

  /** The running stretch of a level: when it began, and what is counted in it. */
  running(level: Level): { readonly startMs: number; readonly tallies: ReadonlyMap<number, Tally> } {
    return { startMs: this.#starts[level], tallies: this.#tallies[level] };
  }

  /**
   * Takes in changes and writes them. `onTurn` is called when a stretch has ended and is written, and the next has not
   * begun. The next is an earlier one if the clock was set back. `dropped` is the number of changes that were not even sent.
   */
  record(changes: readonly Change[], dropped: number, nowMs: number, onTurn: (level: Level) => void): void {
    this.#dropped += dropped;
    const atOnce = this.#changesAtOnce;
    // A write that has just failed is not tried again for each piece.
    let isWell = true;
    for (let at = 0; at === 0 || at < changes.length; at += atOnce) {
      const these = changes.slice(at, at + atOnce);
      let taken = 0;
      try {
        this.#turn(nowMs, onTurn);
        this.#load(these);
        for (const change of these) {
          this.#take(change, nowMs);
          taken += 1;
        }
        if (isWell) isWell = this.#write();
      } catch (error) {
        // What belongs to a change cannot be read, so the change is lost: the thread must go on with the next ones.
        this.#failure = failureWords(error);
        this.#dropped += these.length - taken;
        isWell = false;
      }
    }
    if (!isWell) this.#dropped += this.#pending.shed();
    this.#trim(nowMs);
  }

  #load(changes: readonly Change[]): void {
    this.open.load(changes.filter((change) => "entry" in change));
    this.subjects.load(changes.filter((change) => "key" in change));
  }

  /** How many changes are taken at a time, so that the rows of all of them fit into one transaction. */
  get #changesAtOnce(): number {
    return Math.max(1, Math.floor(this.#opened.rowsAtOnce / rowsPerChange));
  }

  close(): void {
    this.#write();
    closeDatabase(this.db);
  }

  // ---- what happened

  #take(change: Change, nowMs: number): void {
    if (this.#pending.isFull) {
      this.#dropped += 1;
      // A hold that has ended must not be shown as held when the file can be written again.
      const over = change.type === "ended" ? this.open.get(addressName(change)) : undefined;
      if (over !== undefined) this.open.end(this.subjects.lock(over.address, nowMs).id, over);
      return;
    }
    switch (change.type) {
      case "begun":
        return this.#begun(change, nowMs);
      case "identified":
        return this.#identified(change, nowMs);
      case "ended":
        return this.#endedNow(change, nowMs);
      case "explained":
        return this.#explained(change, nowMs);
      case "waiting": {
        const load = change.waiters * change.forMs;
        for (const tally of this.#talliesOf(change, null, nowMs)) tally.loadMs += load;
        return;
      }
      case "complete":
        return this.#completed(change, nowMs);
    }
  }

  /** Ends the holds that an earlier process left in the cluster and that no change has reported to this process. */
  #completed({ cluster, atMs }: Extract<Change, { type: "complete" }>, nowMs: number): void {
    const names = this.open.leftOf(cluster);
    const atOnce = this.#changesAtOnce;
    for (let at = 0; at < names.length; at += atOnce) {
      const these = names.slice(at, at + atOnce);
      this.open.load(these.map(addressNamed));
      for (const name of these) {
        const record = this.open.get(name);
        if (record !== undefined)
          this.#end(name, record, { atMs, reason: "unknown", heldMs: null, seen: false }, nowMs);
      }
      this.#write();
    }
  }

  #begun(change: Extract<Change, { type: "begun" }>, nowMs: number): void {
    const name = addressName(change);
    const { sinceMs, exact, waitedMs, found } = change;
    const owner = this.#introduced(change, change.owner, nowMs);
    const before = this.open.get(name);
    // Only its collector knows whether it is the same grant. If it is, the collector gives it the age that it had.
    const isSame =
      before !== undefined &&
      (!this.open.isLeft(name) || (before.sinceMs !== null && sinceMs <= before.sinceMs));
    if (found && isSame) {
      this.open.met(name);
      return;
    }
    if (before !== undefined)
      this.#end(name, before, { atMs: nowMs, reason: "unknown", heldMs: null, seen: false }, nowMs);
    if (this.open.count >= mostOpen) {
      this.#dropped += 1;
      return;
    }
    const record = new OpenRecord(change, { owner, sinceMs, exact, waitedMs, granted: !found });
    this.open.set(this.subjects.lock(change, nowMs).id, record);
    if (!found) countGrant(this.#talliesOf(change, owner, nowMs), waitedMs);
  }

  #identified(change: Extract<Change, { type: "identified" }>, nowMs: number): void {
    const name = addressName(change);
    const record = this.open.get(name);
    if (record === undefined) return;
    const known = record.owner === null ? null : ownerName(record.owner);
    record.owner = this.#introduced(change, change.owner, nowMs);
    this.open.set(this.subjects.lock(change, nowMs).id, record);
    const owner = ownerName(change.owner);
    if (known !== null || owner === null || !record.granted) return;
    countGrant(this.#talliesOfOwner(change.cluster, owner, nowMs), record.waitedMs);
  }

  #endedNow(change: Extract<Change, { type: "ended" }>, nowMs: number): void {
    const name = addressName(change);
    const { atMs, reason, heldMs, seen } = change;
    const record = this.open.get(name) ?? new OpenRecord(change, neverSeen);
    const owner = this.#introduced(change, change.owner, nowMs);
    record.owner = this.#introduced(change, record.owner ?? owner, nowMs);
    this.#end(name, record, { atMs, reason, heldMs, seen }, nowMs);
  }

  /** `seen`: the end came at that moment, and was not found later. */
  #end(
    name: string,
    record: OpenRecord,
    end: {
      readonly atMs: number;
      readonly reason: EndReason;
      readonly heldMs: number | null;
      readonly seen: boolean;
    },
    nowMs: number,
  ): void {
    const { address, owner, sinceMs, exact, waitedMs } = record;
    const lock = this.subjects.lock(address, nowMs);
    this.open.end(lock.id, record);
    const lastedMs = sinceMs === null || !end.seen ? null : Math.max(0, end.atMs - sinceMs);
    // The time between two ends that were both seen, whichever process saw the first one.
    const heldMs = end.seen ? (end.heldMs ?? (exact ? lastedMs : null)) : null;
    const id = this.#nextHold++;
    this.#pending.holds.push([
      ...[id, lock.id, cut(address.entry), ownerText(owner), tokenText(owner), sinceMs, exact ? 1 : 0],
      ...[waitedMs, end.atMs, endReasons.indexOf(end.reason), heldMs],
    ]);
    const lost = isLoss(end.reason);
    const atLeastMs = heldMs ?? lastedMs ?? 0;
    for (const tally of this.#talliesOf(address, owner, nowMs)) {
      tally.ends += 1;
      if (lost) tally.lost += 1;
      tally.heldMs += atLeastMs;
      tally.holdMaxMs = Math.max(tally.holdMaxMs, atLeastMs);
      if (heldMs !== null) countIn(tally.holds, bucketOf(heldMs), 1);
    }
    this.#ended.delete(name);
    this.#ended.set(name, { id, atMs: nowMs, lost, address, owner });
    if (this.#ended.size <= mostExplainable) return;
    const [oldest] = this.#ended.keys();
    if (oldest !== undefined) this.#ended.delete(oldest);
  }

  #explained(change: Extract<Change, { type: "explained" }>, nowMs: number): void {
    const name = addressName(change);
    const ended = this.#ended.get(name);
    // The owner may hold the lock again. Then the reason belongs to the present hold, whose end has not been reported
    // yet.
    if (this.open.get(name) !== undefined) return;
    if (ended === undefined || nowMs - ended.atMs > explainedWithinMs) return;
    this.#pending.reasons.push([ended.id, endReasons.indexOf(change.reason)]);
    if (ended.lost || !isLoss(change.reason)) return;
    for (const tally of this.#talliesOf(ended.address, ended.owner, nowMs)) tally.lost += 1;
  }

  // ---- subjects, and what is counted of them

  /** The tallies of the lock, of its group and of the owner, for both running stretches. */
  #talliesOf(address: Omit<HoldAddress, "entry">, owner: KnownOwner | null, nowMs: number): Tally[] {
    const { cluster } = address;
    const { id, group } = this.subjects.lock(address, nowMs);
    const tallies = this.#both(id, { kind: "lock", cluster, group });
    if (group !== null) tallies.push(...this.#both(group, { kind: "group", cluster, group: null }));
    const name = owner === null ? null : ownerName(owner);
    if (name !== null) tallies.push(...this.#talliesOfOwner(cluster, name, nowMs));
    return tallies;
  }

  #talliesOfOwner(cluster: string, name: string, nowMs: number): Tally[] {
    const { id } = this.subjects.named("owner", cluster, name, nowMs);
    return this.#both(id, { kind: "owner", cluster, group: null });
  }

  #both(subject: number, of: Pick<Tally, "kind" | "cluster" | "group">): Tally[] {
    return levels.flatMap((level) => this.#tally(level, subject, of) ?? []);
  }

  /** `null` if there are too many tallies. */
  #tally(level: Level, subject: number, of: Pick<Tally, "kind" | "cluster" | "group">): Tally | null {
    const own = this.#tallies[level];
    let tally = own.get(subject);
    if (tally === undefined) {
      if (own.size >= mostTallies) {
        this.#dropped += 1;
        return null;
      }
      tally = new Tally(of);
      own.set(subject, tally);
    }
    this.#pending.counted(level, subject, tally);
    return tally;
  }

  /**
   * What is known of an owner by now. A client of Redis may have acted before it was known who it is. Those acts were
   * counted under the name of its session, and count for the owner from then on. On ZooKeeper each node names its
   * owner, and two nodes of one session may have different owners.
   */
  #introduced(
    { cluster, backend }: Omit<HoldAddress, "entry" | "key">,
    owner: KnownOwner | null,
    nowMs: number,
  ): KnownOwner | null {
    const session = owner?.session ?? null;
    if (backend !== "redis" || owner === null || session === null) return owner;
    const key = `${cluster}\0${session}`;
    const name = ownerName(owner);
    const known = this.#people.get(key);
    if (name === session) return known === undefined ? owner : { ...known, token: owner.token };
    if (name === null || known !== undefined) return owner;
    if (this.#people.size >= mostPeople) this.#people.clear();
    this.#people.set(key, owner);
    const before = this.subjects.find("owner", cluster, session);
    if (before === null) return owner;
    const of = { kind: "owner", cluster, group: null } as const;
    const { id } = this.subjects.named("owner", cluster, name, nowMs);
    for (const level of levels) {
      const from = this.#tallies[level].get(before.id);
      const to = from === undefined ? null : this.#tally(level, id, of);
      if (from === undefined || to === null) continue;
      to.add(from);
      this.#tallies[level].set(before.id, new Tally(of));
      this.#tally(level, before.id, of);
    }
    return owner;
  }

  #turn(nowMs: number, onTurn: (level: Level) => void): void {
    for (const level of levels) {
      const start = nowMs - (nowMs % levelMs[level]);
      if (start === this.#starts[level]) continue;
      this.#write();
      const stored = this.#storedOf(level, start);
      onTurn(level);
      this.#pending.forget(level);
      this.#begin(level, start, stored);
    }
  }

  #begin(level: Level, start: number, stored: readonly (readonly [subject: number, tally: Tally])[]): void {
    this.#starts[level] = start;
    this.#tallies[level].clear();
    for (const [subject, tally] of stored) this.#tallies[level].set(subject, tally);
  }

  /**
   * What the file has of a stretch that begins now. It has something after a restart, and after the clock was set back.
   * Such a stretch must be continued, because its rows are replaced.
   */
  #storedOf(level: Level, start: number): readonly (readonly [subject: number, tally: Tally])[] {
    const stored: (readonly [number, Tally])[] = [];
    let next: ReadTallies["next"] = null;
    do {
      const read = readTallies(this.db, level, start, start + 1, mostTallies, next);
      for (const one of read.tallies) stored.push(one);
      next = read.next;
    } while (next !== null);
    return stored;
  }

  // ---- the file

  /** Returns whether everything was written. What cannot be written now waits for the next time. */
  #write(): boolean {
    try {
      while (this.#pending.write(this.#starts, this.#opened.rowsAtOnce));
      this.#failure = null;
    } catch (error) {
      this.#failure = failureWords(error);
    }
    this.open.settle();
    this.subjects.settle();
    return this.#failure === null;
  }

  #trim(nowMs: number): void {
    try {
      for (let step = 0; step < stepsAtOnce; step++) {
        const done = trimStep(this.#opened, nowMs);
        if (done === "subjects") this.subjects.forget();
        if (done === null) return;
      }
    } catch (error) {
      this.#failure = failureWords(error);
    }
  }
}

function countGrant(tallies: readonly Tally[], waitedMs: number | null): void {
  for (const tally of tallies) {
    tally.grants += 1;
    if (waitedMs === null) continue;
    countIn(tally.waitTimes, bucketOf(waitedMs), 1);
    if (waitedMs === 0) continue;
    tally.waits += 1;
    tally.waitedMs += waitedMs;
    tally.waitMaxMs = Math.max(tally.waitMaxMs, waitedMs);
  }
}
