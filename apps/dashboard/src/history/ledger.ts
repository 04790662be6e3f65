import {
  bytesOf,
  closeDatabase,
  type Database,
  failureWords,
  numberOf,
  type OpenedDatabase,
  type Statement,
} from "./database.js";
import {
  type Change,
  type EndReason,
  endReasons,
  type HoldAddress,
  type KnownOwner,
  type StoreStatus,
  type SubjectKind,
  subjectKinds,
} from "./messages.js";
import { OpenHolds } from "./open-holds.js";
import { Pending } from "./pending.js";
import { addressName, addressNamed, cut, isLoss, OpenRecord, ownerName, ownerText } from "./records.js";
import { hourMs, type Level, levelMs, readTallies } from "./stretches.js";
import { bucketOf, countIn, Tally } from "./tally.js";
import { trimStep } from "./trim.js";

const mostOpen = 200_000;
const mostTallies = 200_000;
const mostGroups = 2_000;
const otherGroup = "__other__";
/** Why a hold ended may be found out a little later. */
const explainedWithinMs = 60_000;
const mostExplainable = 20_000;
const subjectsInMemory = 20_000;
/** Rows that a change may make. */
const rowsPerChange = 8;
/** Steps of deleting between two writes. */
const stepsAtOnce = 20;

const neverSeen = { owner: null, sinceMs: null, exact: false, waitedMs: null, granted: false };

interface SubjectName {
  readonly kind: SubjectKind;
  readonly cluster: string;
  /** As it is cut. */
  readonly name: string;
}

interface Subject {
  readonly id: number;
  hour: number;
  group: number | null;
}

interface Ended {
  readonly id: number;
  readonly atMs: number;
  readonly lost: boolean;
  readonly address: HoldAddress;
  readonly owner: KnownOwner | null;
}

/**
 * All that the worker knows, and the only one that writes the file. What has happened goes into memory at once, and from there into the
 * file in transactions that its log has room for; while the file cannot be written, what waits is bounded and the rest is counted.
 */
export class Ledger {
  readonly db: Database;
  readonly open: OpenHolds;
  readonly #file: string;
  readonly #opened: OpenedDatabase;
  readonly #groupOf: (key: string) => string;
  /** Of the stretches that run. */
  readonly #tallies: readonly [Map<number, Tally>, Map<number, Tally>] = [new Map(), new Map()];
  readonly #starts: [number, number] = [0, 0];
  /** `null`: there is none in the file. */
  readonly #subjects = new Map<string, Subject | null>();
  /** Groups with a name of their own, and the hour in which something was counted last; that of longest ago first. */
  readonly #groups = new Map<number, number>();
  readonly #ended = new Map<string, Ended>();
  readonly #pending: Pending;
  /** Prepared once: what is prepared for one call takes memory until it is collected as garbage, and so do the rows of each call. */
  readonly #subjectRows: Statement;
  #nextSubject: number;
  #nextHold: number;
  #dropped = 0;
  #failure: string | null = null;

  constructor(file: string, opened: OpenedDatabase, groupOf: (key: string) => string, nowMs: number) {
    this.#file = file;
    this.#opened = opened;
    this.#groupOf = groupOf;
    this.db = opened.db;
    this.#subjectRows = this.db.prepare(
      `SELECT a.key AS at, s.id, s.hour, s.grp FROM json_each(?) AS a
       CROSS JOIN subject s ON s.kind = a.value->>0 AND s.cluster = a.value->>1 AND s.name = a.value->>2`,
    );
    this.#pending = new Pending(this.db);
    this.#nextSubject = numberOf(this.db, "SELECT max(id) FROM subject") + 1;
    this.#nextHold = numberOf(this.db, "SELECT max(id) FROM hold") + 1;
    this.open = new OpenHolds(this.db, this.#pending);
    for (const level of [0, 1] as const) {
      this.#starts[level] = nowMs - (nowMs % levelMs[level]);
      const until = this.#starts[level] + 1;
      for (const [subject, tally] of readTallies(this.db, level, this.#starts[level], until, mostTallies)
        .tallies)
        this.#tallies[level].set(subject, tally);
    }
    for (const { id, hour } of this.db
      .prepare("SELECT id, hour FROM subject WHERE kind = 1 AND hour > ? ORDER BY hour LIMIT ?")
      .all(nowMs - 2 * hourMs, mostGroups))
      this.#groups.set(Number(id), Number(hour));
  }

  get status(): StoreStatus {
    const momentOf = (sql: string): number | null => numberOf(this.db, sql) || null;
    return {
      usedBytes: bytesOf(this.#file),
      maxBytes: this.#opened.maxBytes,
      holdsSinceMs: momentOf("SELECT end_ms FROM hold ORDER BY id LIMIT 1"),
      hoursSinceMs: momentOf("SELECT min(start) FROM stat WHERE level = 2"),
      dropped: this.#dropped,
      failure: this.#failure,
    };
  }

  /** The running stretch of a level: when it began, and what is counted in it. */
  running(level: Level): { readonly startMs: number; readonly tallies: ReadonlyMap<number, Tally> } {
    return { startMs: this.#starts[level], tallies: this.#tallies[level] };
  }

  /** Of a lock or its group, or of an owner; `null` of what has never been told of. */
  find(
    kind: SubjectKind,
    cluster: string,
    name: string,
  ): { readonly id: number; readonly group: number | null } | null {
    const named = { kind, cluster, name: cut(name) };
    const key = subjectKey(named);
    const isNear = this.#subjects.has(key);
    const found = this.#known(named);
    // Those of questions would be kept without a limit.
    if (!isNear) this.#subjects.delete(key);
    return found;
  }

  /**
   * Takes changes in and writes them. `onTurn`: a stretch is over and written, and nothing of the next is counted yet. `dropped`: changes
   * that were not even sent.
   */
  record(changes: readonly Change[], dropped: number, nowMs: number, onTurn: (level: Level) => void): void {
    this.#dropped += dropped;
    const atOnce = this.#changesAtOnce;
    // What has just failed is not tried again for each piece.
    let isWritable = true;
    for (let at = 0; at === 0 || at < changes.length; at += atOnce) {
      this.#turn(nowMs, onTurn);
      const these = changes.slice(at, at + atOnce);
      this.#load(these);
      for (const change of these) this.#take(change, nowMs);
      if (isWritable) isWritable = this.#write();
    }
    if (!isWritable) this.#dropped += this.#pending.shed();
    this.#trim(nowMs);
  }

  #load(changes: readonly Change[]): void {
    this.open.load(changes.filter((change) => "entry" in change));
    this.#readSubjects(
      changes.flatMap((change) =>
        "key" in change ? [{ kind: "lock", cluster: change.cluster, name: cut(change.key) }] : [],
      ),
    );
  }

  /** So that the rows of all fit into one transaction. */
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
      // What has ended is not shown as held when the file can be written again.
      const over = change.type === "ended" ? this.open.get(addressName(change)) : undefined;
      if (over !== undefined) this.open.end(this.#lockOf(over.address, nowMs).id, over);
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

  /** Nothing has told of what is still left of the cluster. */
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
    const { backend, sinceMs, exact, waitedMs, owner, found } = change;
    const before = this.open.get(name);
    // Only its collector knows whether it is the same grant, and then gives it the age that it had.
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
    const record = new OpenRecord(name, backend, { owner, sinceMs, exact, waitedMs, granted: !found });
    this.open.set(this.#lockOf(change, nowMs).id, record);
    if (found) return;
    for (const tally of this.#talliesOf(change, owner, nowMs)) {
      tally.grants += 1;
      if (waitedMs === null) continue;
      countIn(tally.waitTimes, bucketOf(waitedMs), 1);
      if (waitedMs === 0) continue;
      tally.waits += 1;
      tally.waitedMs += waitedMs;
      tally.waitMaxMs = Math.max(tally.waitMaxMs, waitedMs);
    }
  }

  #identified(change: Extract<Change, { type: "identified" }>, nowMs: number): void {
    const name = addressName(change);
    const record = this.open.get(name);
    if (record === undefined) return;
    const known = record.owner === null ? null : ownerName(record.owner);
    record.owner = change.owner;
    this.open.set(this.#lockOf(change, nowMs).id, record);
    const owner = ownerName(change.owner);
    if (known !== null || owner === null || !record.granted) return;
    for (const tally of this.#talliesOfSubject("owner", change.cluster, owner, nowMs)) tally.grants += 1;
  }

  #endedNow(change: Extract<Change, { type: "ended" }>, nowMs: number): void {
    const name = addressName(change);
    const { backend, atMs, reason, heldMs, seen } = change;
    const record = this.open.get(name) ?? new OpenRecord(name, backend, neverSeen);
    record.owner ??= change.owner;
    this.#end(name, record, { atMs, reason, heldMs, seen }, nowMs);
  }

  /** `seen`: its end came at that moment, and was not found later. */
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
    const lock = this.#lockOf(address, nowMs);
    this.open.end(lock.id, record);
    const lastedMs = sinceMs === null || !end.seen ? null : Math.max(0, end.atMs - sinceMs);
    // Between both ends that were seen, whichever process saw the first one.
    const heldMs = end.seen ? (end.heldMs ?? (exact ? lastedMs : null)) : null;
    const id = this.#nextHold++;
    this.#pending.holds.push([
      ...[id, lock.id, cut(address.entry), ownerText(owner), owner?.token ?? null, sinceMs, exact ? 1 : 0],
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
    // An owner may have the lock again, and then it is about a hold whose end has not been told of.
    if (this.open.get(name) !== undefined) return;
    if (ended === undefined || nowMs - ended.atMs > explainedWithinMs) return;
    this.#pending.reasons.push([ended.id, endReasons.indexOf(change.reason)]);
    if (ended.lost || !isLoss(change.reason)) return;
    for (const tally of this.#talliesOf(ended.address, ended.owner, nowMs)) tally.lost += 1;
  }

  // ---- subjects, and what is counted of them

  #lockOf({ cluster, backend, key }: Omit<HoldAddress, "entry">, nowMs: number): Subject {
    return this.#subject("lock", cluster, key, nowMs, backend);
  }

  #subject(
    kind: SubjectKind,
    cluster: string,
    name: string,
    nowMs: number,
    backend: string | null = null,
  ): Subject {
    const text = cut(name);
    const hour = nowMs - (nowMs % hourMs);
    let subject = this.#known({ kind, cluster, name: text });
    if (subject === null) {
      const group = kind === "lock" ? this.#group(cluster, name, nowMs) : null;
      subject = { id: this.#nextSubject++, hour, group };
      this.#subjects.set(subjectKey({ kind, cluster, name: text }), subject);
      this.#pending.subjects.push([
        ...[subject.id, subjectKinds.indexOf(kind), cluster, text, backend, group, nowMs, hour],
      ]);
    } else if (subject.hour < hour) {
      subject.hour = hour;
      if (kind === "lock") subject.group = this.#group(cluster, name, nowMs);
      this.#pending.seen.set(subject.id, [subject.id, hour, subject.group]);
    }
    return subject;
  }

  #known(named: SubjectName): Subject | null {
    const key = subjectKey(named);
    if (!this.#subjects.has(key)) this.#readSubjects([named]);
    return this.#subjects.get(key) ?? null;
  }

  #readSubjects(names: readonly SubjectName[]): void {
    const asked = names.filter((named) => !this.#subjects.has(subjectKey(named)));
    if (asked.length === 0) return;
    const found = this.#subjectRows.all(
      JSON.stringify(asked.map(({ kind, cluster, name }) => [subjectKinds.indexOf(kind), cluster, name])),
    );
    for (const named of asked) this.#subjects.set(subjectKey(named), null);
    for (const { at, id, hour, grp } of found) {
      const group = grp === null ? null : Number(grp);
      const subject = { id: Number(id), hour: Number(hour), group };
      this.#subjects.set(subjectKey(asked[Number(at)] as SubjectName), subject);
    }
  }

  /** Those beyond the limit are one; a group in which nothing was counted for an hour makes room. */
  #group(cluster: string, key: string, nowMs: number): number {
    const name = this.#groupOf(key);
    const known = this.find("group", cluster, name);
    if ((known === null || !this.#groups.has(known.id)) && this.#groups.size >= mostGroups) {
      const [oldest] = this.#groups;
      if (oldest === undefined || oldest[1] > nowMs - 2 * hourMs)
        return this.#subject("group", cluster, otherGroup, nowMs).id;
      this.#groups.delete(oldest[0]);
    }
    const { id, hour } = this.#subject("group", cluster, name, nowMs);
    this.#groups.delete(id);
    this.#groups.set(id, hour);
    return id;
  }

  /** Of both running stretches: those of the lock, of its group, and of the owner. */
  #talliesOf(address: Omit<HoldAddress, "entry">, owner: KnownOwner | null, nowMs: number): Tally[] {
    const { cluster } = address;
    const { id, group } = this.#lockOf(address, nowMs);
    const tallies = this.#both(id, { kind: "lock", cluster, group });
    if (group !== null) tallies.push(...this.#both(group, { kind: "group", cluster, group: null }));
    const name = owner === null ? null : ownerName(owner);
    if (name !== null) tallies.push(...this.#talliesOfSubject("owner", cluster, name, nowMs));
    return tallies;
  }

  #talliesOfSubject(kind: SubjectKind, cluster: string, name: string, nowMs: number): Tally[] {
    return this.#both(this.#subject(kind, cluster, name, nowMs).id, { kind, cluster, group: null });
  }

  #both(subject: number, of: Pick<Tally, "kind" | "cluster" | "group">): Tally[] {
    const tallies: Tally[] = [];
    for (const level of [0, 1] as const) {
      const own = this.#tallies[level];
      let tally = own.get(subject);
      if (tally === undefined) {
        if (own.size >= mostTallies) {
          this.#dropped += 1;
          continue;
        }
        tally = new Tally(of);
        own.set(subject, tally);
      }
      this.#pending.counted(level, subject, tally);
      tallies.push(tally);
    }
    return tallies;
  }

  #turn(nowMs: number, onTurn: (level: Level) => void): void {
    for (const level of [0, 1] as const) {
      const start = nowMs - (nowMs % levelMs[level]);
      if (start <= this.#starts[level]) continue;
      this.#write();
      onTurn(level);
      this.#tallies[level].clear();
      this.#pending.forget(level);
      this.#starts[level] = start;
    }
  }

  // ---- the file

  /** Whether all was written. What cannot be written now waits for the next time. */
  #write(): boolean {
    try {
      while (this.#pending.write(this.#starts, this.#opened.rowsAtOnce));
      this.#failure = null;
    } catch (error) {
      this.#failure = failureWords(error);
    }
    this.open.settle();
    // What is not written yet can be read from nowhere else.
    if (this.#subjects.size >= subjectsInMemory && this.#pending.subjects.length === 0)
      this.#subjects.clear();
    return this.#failure === null;
  }

  #trim(nowMs: number): void {
    try {
      for (let step = 0; step < stepsAtOnce; step++) {
        const done = trimStep(this.#opened, nowMs);
        if (done === "subjects") this.#subjects.clear();
        if (done === null) return;
      }
    } catch (error) {
      this.#failure = failureWords(error);
    }
  }
}

function subjectKey({ kind, cluster, name }: SubjectName): string {
  return `${kind}\0${cluster}\0${name}`;
}
