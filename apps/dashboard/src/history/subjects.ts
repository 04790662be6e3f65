import { type Database, numberOf, type Statement } from "./database.js";
import { type HoldAddress, type SubjectKind, subjectKinds } from "./messages.js";
import type { Pending } from "./pending.js";
import { cut } from "./records.js";
import { hourMs } from "./stretches.js";

const mostGroups = 2_000;
const otherGroup = "__other__";
const mostInMemory = 20_000;

interface SubjectName {
  readonly kind: SubjectKind;
  readonly cluster: string;
  /** The name after `cut`. */
  readonly name: string;
}

/** What is counted: a lock, a group of locks, or an owner. */
interface Subject {
  readonly id: number;
  /** The hour in which it was last seen. */
  hour: number;
  /** The group of a lock; `null` for owners and groups. */
  group: number | null;
}

/** The numbers that locks, groups and owners have in the file. Those that were asked for last are in memory. */
export class Subjects {
  readonly #pending: Pending;
  readonly #groupOf: (key: string) => string;
  /** `null` if the file has none. */
  readonly #known = new Map<string, Subject | null>();
  /** The groups that keep their own name, with the hour in which something was last counted; the oldest hour first. */
  readonly #groups = new Map<number, number>();
  /** Prepared once: a statement and the rows of each call take memory until they are collected as garbage. */
  readonly #rows: Statement;
  #next: number;

  constructor(db: Database, pending: Pending, groupOf: (key: string) => string, nowMs: number) {
    this.#pending = pending;
    this.#groupOf = groupOf;
    this.#rows = db.prepare(
      `SELECT a.key AS at, s.id, s.hour, s.grp FROM json_each(?) AS a
       CROSS JOIN subject s ON s.kind = a.value->>0 AND s.cluster = a.value->>1 AND s.name = a.value->>2`,
    );
    this.#next = numberOf(db, "SELECT max(id) FROM subject") + 1;
    for (const { id, hour } of db
      .prepare("SELECT id, hour FROM subject WHERE kind = 1 AND hour > ? ORDER BY hour LIMIT ?")
      .all(nowMs - 2 * hourMs, mostGroups))
      this.#groups.set(Number(id), Number(hour));
  }

  /** Reads many subjects at once that will be asked for. */
  load(locks: readonly Pick<HoldAddress, "cluster" | "key">[]): void {
    this.#read(locks.map(({ cluster, key }) => ({ kind: "lock", cluster, name: cut(key) })));
  }

  /** `null` if no change has ever named this subject. */
  find(kind: SubjectKind, cluster: string, name: string): Readonly<Subject> | null {
    const named = { kind, cluster, name: cut(name) };
    const isNear = this.#known.has(keyOf(named));
    const found = this.#get(named);
    // A name that only a question asks for is not kept in memory, because these names have no limit.
    if (!isNear) this.#known.delete(keyOf(named));
    return found;
  }

  lock({ cluster, backend, key }: Omit<HoldAddress, "entry">, nowMs: number): Readonly<Subject> {
    return this.named("lock", cluster, key, nowMs, backend);
  }

  /** The subject of that name. It is made if there is none. */
  named(
    kind: SubjectKind,
    cluster: string,
    name: string,
    nowMs: number,
    backend: string | null = null,
  ): Readonly<Subject> {
    const named = { kind, cluster, name: cut(name) };
    const hour = nowMs - (nowMs % hourMs);
    let subject = this.#get(named);
    if (subject === null) {
      const group = kind === "lock" ? this.#group(cluster, name, nowMs) : null;
      subject = { id: this.#next++, hour, group };
      this.#known.set(keyOf(named), subject);
      this.#pending.subjects.push([
        ...[subject.id, subjectKinds.indexOf(kind), cluster, named.name, backend, group, nowMs, hour],
      ]);
    } else if (subject.hour < hour) {
      subject.hour = hour;
      if (kind === "lock") subject.group = this.#group(cluster, name, nowMs);
      this.#pending.seen.set(subject.id, [subject.id, hour, subject.group]);
    }
    return subject;
  }

  /** Call it after a write. A subject that is not written yet can be read from nowhere else, so it is not dropped. */
  settle(): void {
    if (this.#known.size >= mostInMemory && this.#pending.subjects.length === 0) this.#known.clear();
  }

  /**
   * Drops from memory what can be read from the file, because some subjects may not be there any more. A subject that is
   * not written yet stays: with a second number it could never be written.
   */
  forget(): void {
    const unwritten = new Set(this.#pending.subjects.map(([id]) => id));
    for (const [name, subject] of this.#known)
      if (subject === null || !unwritten.has(subject.id)) this.#known.delete(name);
  }

  #get(named: SubjectName): Subject | null {
    this.#read([named]);
    return this.#known.get(keyOf(named)) ?? null;
  }

  #read(names: readonly SubjectName[]): void {
    const asked = names.filter((named) => !this.#known.has(keyOf(named)));
    if (asked.length === 0) return;
    const found = this.#rows.all(
      JSON.stringify(asked.map(({ kind, cluster, name }) => [subjectKinds.indexOf(kind), cluster, name])),
    );
    for (const named of asked) this.#known.set(keyOf(named), null);
    for (const { at, id, hour, grp } of found) {
      const group = grp === null ? null : Number(grp);
      this.#known.set(keyOf(asked[Number(at)] as SubjectName), { id: Number(id), hour: Number(hour), group });
    }
  }

  /**
   * The group of a key. Groups beyond the limit are counted as one. A group in which nothing was counted for an hour
   * makes room.
   */
  #group(cluster: string, key: string, nowMs: number): number {
    const name = this.#groupOf(key);
    const known = this.find("group", cluster, name);
    if ((known === null || !this.#groups.has(known.id)) && this.#groups.size >= mostGroups) {
      const [oldest] = this.#groups;
      if (oldest === undefined || oldest[1] > nowMs - 2 * hourMs)
        return this.named("group", cluster, otherGroup, nowMs).id;
      this.#groups.delete(oldest[0]);
    }
    const { id, hour } = this.named("group", cluster, name, nowMs);
    this.#groups.delete(id);
    this.#groups.set(id, hour);
    return id;
  }
}

function keyOf({ kind, cluster, name }: SubjectName): string {
  return `${kind}\0${cluster}\0${name}`;
}
