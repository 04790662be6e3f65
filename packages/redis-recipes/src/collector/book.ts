import type { Millis, PrimitiveKind, Recognised } from "@holdfast/core";
import type {
  ClientIdentity,
  CollectorEvent,
  Finding,
  Moment,
  ObservedLock,
  ObservedParticipant,
} from "@holdfast/core/observe";
import { isOurs, parseOwner } from "../layout/owners.js";
import type { Listeners } from "./channels.js";
import { electionPrefix } from "./key-names.js";
import { LeaseHistory } from "./lease-history.js";
import { findingsOf } from "./lock-findings.js";
import { type Reading, versionOf } from "./reading.js";

/** So many holders are shown in a row; the rest are counted. */
const holdersInRow = 5;
/** How many locks that are gone have their highest token remembered. */
const rememberedTokens = 10_000;

export const unknownMoment: Moment = { atMs: null, provenance: "unknown" };

/** One holder as followed from reading to reading. */
export interface Followed {
  readonly entry: string;
  readonly since: Moment;
  readonly lease: LeaseHistory;
}

export interface LockRecord {
  readonly key: string;
  lock: ObservedLock;
  reading: Reading;
  readonly followed: Followed[];
  /** Of the last full reading. */
  waiting: { readonly ours: number; readonly queue: number; readonly first: string | null };
  /** When the present first waiter was first seen in any place; the longest that can be told. */
  waitingSince: Moment;
  /** Ever had Redisson's fair queue. */
  fair: boolean;
  /** Nothing there since. */
  emptySinceMs: Millis | null;
  /** Somebody waits and nobody holds, since. */
  ownerlessSinceMs: Millis | null;
  /** The highest that was ever seen on this key. */
  highestToken: string | null;
  findings: readonly Finding[];
}

export interface BookParts {
  readonly listeners: (key: string) => Listeners | undefined;
  /** Whether anything is known of listeners at all. */
  readonly listening: () => boolean;
  readonly identity: (uuid: string) => ClientIdentity | null;
  readonly emit: (event: CollectorEvent) => void;
  readonly attended: (key: string) => boolean;
}

/** All locks that were seen, as they were last read. */
export class Book {
  readonly records: Map<string, LockRecord> = new Map();
  /** Those somebody waits for, to be read again often. */
  readonly contended: Set<string> = new Set();
  readonly empty: Set<string> = new Set();
  readonly troubled: Set<LockRecord> = new Set();
  readonly #tokens = new Map<string, string>();
  readonly #parts: BookParts;

  constructor(parts: BookParts) {
    this.#parts = parts;
  }

  /** The lock of that name, which its side keys may also give with braces around. */
  keyFor(name: string): string {
    const braced = `{${name}}`;
    return !this.records.has(name) && this.records.has(braced) ? braced : name;
  }

  /** Takes a reading in. `null`: there is nothing that is known as a lock. */
  apply(reading: Reading): LockRecord | null {
    const known = this.records.get(reading.key);
    const nothing = reading.shape.is === "nothing" && !someoneWaits(reading, known);
    const foreign = reading.shape.is === "other" || !this.#isLock(reading, known);
    if (foreign || (nothing && known === undefined && !this.#parts.attended(reading.key))) {
      if (known !== undefined) this.remove(reading.key);
      return null;
    }
    const record = known ?? this.#begin(reading);
    const before = known === undefined ? null : known.lock;
    if (known !== undefined && reading.atMs < known.reading.atMs) return known;
    const raised = this.#follow(record, reading, known !== undefined);
    record.reading = reading;
    record.lock = this.#compose(record, reading);
    this.#sort(record, nothing);
    if (before === null || raised || differs(before, record.lock))
      this.#parts.emit({ type: "changed", key: record.key });
    return record;
  }

  /** Channels or identities are others than when it was composed. */
  recompose(key: string): void {
    const record = this.records.get(key);
    if (record === undefined) return;
    const before = record.lock;
    record.lock = this.#compose(record, record.reading);
    this.#sort(record, record.emptySinceMs !== null);
    if (differs(before, record.lock)) this.#parts.emit({ type: "changed", key });
  }

  remove(key: string): void {
    const record = this.records.get(key);
    if (record === undefined) return;
    this.records.delete(key);
    this.contended.delete(key);
    this.empty.delete(key);
    this.troubled.delete(record);
    if (record.highestToken !== null) this.#remember(key, record.highestToken);
    this.#parts.emit({ type: "removed", key });
  }

  /** Of those that could be read and were empty for so long. */
  sweep(nowMs: Millis, afterMs: Millis): void {
    for (const key of [...this.empty]) {
      const since = this.records.get(key)?.emptySinceMs ?? null;
      if (since === null) this.empty.delete(key);
      else if (nowMs - since > afterMs && !this.#parts.attended(key)) this.remove(key);
    }
  }

  participant(
    record: LockRecord,
    field: string,
    holds: { readonly count: number; readonly leftMs: Millis | null; readonly mode: "exclusive" | "shared" },
  ): ObservedParticipant {
    const owner = field.endsWith(":write") ? field.slice(0, -6) : field;
    const followed = record.followed.find((each) => each.entry === field);
    const { leftMs } = holds;
    return {
      ...this.person(owner),
      entry: field,
      mode: holds.mode,
      since: followed?.since ?? unknownMoment,
      holdCount: holds.count,
      remainingMs: leftMs !== null && leftMs >= 0 ? leftMs : null,
      lease: leftMs === -1 ? "never-expires" : (followed?.lease.state ?? "unknown"),
      token: isOurs(owner) && holds.mode === "exclusive" ? record.reading.token : null,
    };
  }

  /** All that an owner on the wire tells of who it is. */
  person(owner: string): ObservedParticipant {
    const parsed = parseOwner(owner);
    return {
      entry: owner,
      actor: parsed === null ? null : owner,
      session: parsed?.uuid ?? null,
      identity: parsed === null ? null : this.#parts.identity(parsed.uuid),
      address: null,
      data: null,
      mode: "exclusive",
      permits: 1,
      position: null,
      since: unknownMoment,
      holdCount: null,
      remainingMs: null,
      lease: "unknown",
      deadlineMs: null,
      token: null,
      library: libraryOf(owner),
    };
  }

  /** A number by itself may be anybody's: only what is kept or heard beside it makes it a semaphore or a latch. */
  #isLock({ shape, token, key }: Reading, known: LockRecord | undefined): boolean {
    if (shape.is !== "permits") return true;
    const listeners = this.#parts.listeners(key);
    return (
      known?.lock.kind === "semaphore" ||
      token !== null ||
      (shape.grants ?? 0) > 0 ||
      (listeners !== undefined && listeners.semaphore + listeners.latch > 0) ||
      known?.lock.kind === "permit-semaphore"
    );
  }

  #begin(reading: Reading): LockRecord {
    const record: LockRecord = {
      key: reading.key,
      lock: undefined as unknown as ObservedLock,
      reading,
      followed: [],
      waiting: { ours: 0, queue: 0, first: null },
      waitingSince: unknownMoment,
      fair: false,
      emptySinceMs: null,
      ownerlessSinceMs: null,
      highestToken: this.#tokens.get(reading.key) ?? null,
      findings: [],
    };
    this.records.set(reading.key, record);
    return record;
  }

  /** Who came and who went. Whether a lease was raised. */
  #follow(record: LockRecord, reading: Reading, known: boolean): boolean {
    const { shape, atMs, leftMs, token } = reading;
    const fields = shape.is === "lock" ? shape.fields : [];
    let raised = false;
    for (let at = record.followed.length - 1; at >= 0; at--) {
      const gone = record.followed[at] as Followed;
      if (fields.some((each) => each.field === gone.entry)) continue;
      record.followed.splice(at, 1);
      const { since } = gone;
      const heldMs = since.provenance === "exact" && since.atMs !== null ? atMs - since.atMs : null;
      this.#parts.emit({
        type: "released",
        key: record.key,
        entry: gone.entry,
        atMs,
        token: record.reading.token,
        heldMs: heldMs === null ? null : Math.max(0, heldMs),
      });
    }
    for (const { field } of fields) {
      const old = record.followed.find((each) => each.entry === field);
      // The end of the hash is that of its only holder; of several readers each has its own.
      if (old !== undefined) {
        if (fields.length === 1) raised = old.lease.read(leftMs, atMs, reading.blurMs) || raised;
        continue;
      }
      const alone = shape.is === "lock" && (shape.mode === null || field.endsWith(":write"));
      const since: Moment = alone ? grantedAt(field, token, atMs) : { atMs, provenance: "at-least" };
      record.followed.push({ entry: field, since, lease: new LeaseHistory(leftMs, atMs) });
      if (known) {
        const of = isOurs(ownerIn(field)) ? token : null;
        this.#parts.emit({
          type: "granted",
          key: record.key,
          entry: field,
          atMs: since.atMs ?? atMs,
          token: of,
          heldMs: null,
        });
      }
    }
    const { beside } = reading;
    if (beside !== null) {
      const first = beside.firstQueued ?? beside.firstWaiter;
      const waits = beside.queue + beside.waiters > 0;
      if (!waits) record.waitingSince = unknownMoment;
      else if (record.waiting.first === null || record.waitingSince.atMs === null)
        record.waitingSince = { atMs, provenance: "at-least" };
      else if (record.waiting.first !== first) record.waitingSince = this.#nextSince(record, atMs);
      record.waiting = { ours: beside.waiters, queue: beside.queue, first };
      record.fair ||= beside.queue > 0;
    }
    return raised;
  }

  /**
   * The first has gone: the next was there no later than the last reading that counted as many. One that came since would be the
   * only one.
   */
  #nextSince(record: LockRecord, atMs: Millis): Moment {
    return record.waiting.ours + record.waiting.queue > 1
      ? { atMs: record.reading.atMs, provenance: "at-least" }
      : { atMs, provenance: "at-least" };
  }

  #compose(record: LockRecord, reading: Reading): ObservedLock {
    const { key, shape, leftMs, token, atMs } = reading;
    const listeners = this.#parts.listeners(key);
    const fields = shape.is === "lock" ? shape.fields : [];
    const holders = fields.slice(0, holdersInRow).map(({ field, count }) =>
      this.participant(record, field, {
        count,
        leftMs: fields.length === 1 ? leftMs : null,
        mode:
          shape.is === "lock" && shape.mode !== null && !field.endsWith(":write") ? "shared" : "exclusive",
      }),
    );
    const kind = kindOf(record, reading, listeners);
    const participants = record.waiting.ours + record.waiting.queue;
    const connections = foreignListeners(kind, record, listeners);
    const waiterCount = participants + connections;
    const held = shape.is === "permits" ? (shape.grants ?? 0) : shape.is === "barrier" ? 0 : fields.length;
    const libraries = new Set<Recognised>(fields.map(({ field }) => libraryOf(ownerIn(field))));
    if (record.waiting.ours > 0 || key.startsWith("holdfast_")) libraries.add("holdfast");
    if (record.waiting.first !== null) libraries.add(libraryOf(record.waiting.first.split(" ")[0] as string));
    if (connections > 0 && shape.is === "lock") libraries.add("redisson");
    if (libraries.size === 0)
      libraries.add(shape.is !== "permits" ? "unknown" : token !== null ? "holdfast" : "redisson");
    return {
      key,
      backend: "redis",
      kind,
      libraries: [...libraries],
      state: waiterCount > 0 ? "contended" : held > 0 ? "held" : "idle",
      holders,
      holderCount: held,
      waiterCount,
      waiterUnit:
        connections > 0
          ? "connections"
          : participants > 0 || record.fair || kind === "leader-election"
            ? "participants"
            : this.#parts.listening() || !hidesWaiters(kind)
              ? "connections"
              : "hidden",
      oldestWait:
        participants > 0
          ? record.waitingSince
          : connections > 0 && listeners !== undefined
            ? { atMs: listeners.sinceMs, provenance: "at-least" }
            : unknownMoment,
      oldestHold: oldest(record.followed.map((each) => each.since)),
      token,
      limit: shape.is === "permits" && kind === "permit-semaphore" ? shape.free + (shape.grants ?? 0) : null,
      version: versionOf(reading),
      readMs: atMs,
      denied: reading.denied,
    };
  }

  #sort(record: LockRecord, nothing: boolean): void {
    const { key, lock, reading } = record;
    if (lock.state === "contended") this.contended.add(key);
    else this.contended.delete(key);
    if (nothing) {
      record.emptySinceMs ??= reading.atMs;
      this.empty.add(key);
    } else {
      record.emptySinceMs = null;
      this.empty.delete(key);
    }
    const ownerless = lock.holderCount === 0 && record.waiting.ours + record.waiting.queue > 0;
    record.ownerlessSinceMs = ownerless ? (record.ownerlessSinceMs ?? reading.atMs) : null;
    record.findings = findingsOf(record, this.#parts.listeners(key));
    if (lock.token !== null && (record.highestToken === null || isBelow(record.highestToken, lock.token)))
      record.highestToken = lock.token;
    if (record.findings.length > 0) this.troubled.add(record);
    else this.troubled.delete(record);
  }

  #remember(key: string, token: string): void {
    this.#tokens.delete(key);
    this.#tokens.set(key, token);
    if (this.#tokens.size > rememberedTokens) this.#tokens.delete(this.#tokens.keys().next().value as string);
  }
}

/** Of decimal texts without leading zeros. */
export function isBelow(token: string, other: string): boolean {
  return token.length === other.length ? token < other : token.length < other.length;
}

export function ownerIn(field: string): string {
  return field.endsWith(":write") ? field.slice(0, -6) : field;
}

export function libraryOf(owner: string): Recognised {
  const parsed = parseOwner(owner);
  return parsed === null ? "unknown" : parsed.ours ? "holdfast" : "redisson";
}

function someoneWaits({ beside }: Reading, known: LockRecord | undefined): boolean {
  if (beside !== null) return beside.waiters + beside.queue > 0;
  return known !== undefined && known.waiting.ours + known.waiting.queue > 0;
}

/**
 * A token of ours is the server's clock at the grant, in microseconds, unless that clock had been set back; so it tells when an
 * exclusive holder of ours got the lock. What others hold was there at least since it was first read.
 */
function grantedAt(field: string, token: string | null, atMs: Millis): Moment {
  if (token !== null && isOurs(ownerIn(field))) {
    const grantMs = Math.floor(Number(token) / 1_000);
    // Of the years from 2001; a little ahead of the reader's clock is that clock's fault.
    if (grantMs > 1_000_000_000_000 && grantMs < atMs + 60_000) return { atMs: grantMs, provenance: "exact" };
  }
  return { atMs, provenance: "at-least" };
}

function kindOf(
  record: LockRecord,
  { key, shape }: Reading,
  listeners: Listeners | undefined,
): PrimitiveKind | null {
  if (key.startsWith("holdfast_double_barrier:")) return "double-barrier";
  if (key.startsWith("holdfast_barrier:")) return "barrier";
  if (key.startsWith(electionPrefix)) return "leader-election";
  if (shape.is === "permits") {
    if ((shape.grants ?? 0) > 0 || record.lock?.kind === "permit-semaphore") return "permit-semaphore";
    return listeners !== undefined && listeners.latch > 0 ? "count-down-latch" : "semaphore";
  }
  if (shape.is === "lock" && shape.mode !== null) return "read-write-lock";
  if (record.fair || (listeners?.fair.size ?? 0) > 0) return "fair-mutex";
  if (shape.is === "nothing" && record.lock?.kind === "read-write-lock") return "read-write-lock";
  return "mutex";
}

function hidesWaiters(kind: PrimitiveKind | null): boolean {
  return kind !== "fair-mutex" && kind !== "leader-election";
}

/** Connections that listen for this lock and are not those of participants that are counted already. */
function foreignListeners(
  kind: PrimitiveKind | null,
  record: LockRecord,
  listeners: Listeners | undefined,
): number {
  if (listeners === undefined) return 0;
  switch (kind) {
    case "fair-mutex":
      return 0;
    case "mutex":
    case "read-write-lock": {
      const all = kind === "mutex" ? listeners.mutex : listeners.readWrite;
      // Our first waiter listens as well while somebody of Redisson holds.
      const { shape } = record.reading;
      const foreign = shape.is === "lock" && shape.fields.some(({ field }) => !isOurs(ownerIn(field)));
      return Math.max(0, all - (foreign && record.waiting.ours > 0 ? 1 : 0));
    }
    case "semaphore":
    case "permit-semaphore":
      return listeners.semaphore;
    case "count-down-latch":
      return listeners.latch;
    default:
      return 0;
  }
}

function oldest(moments: readonly Moment[]): Moment {
  let found = unknownMoment;
  for (const each of moments) {
    if (each.atMs !== null && (found.atMs === null || each.atMs < found.atMs)) found = each;
  }
  return found;
}

/** In anything but the time that passes. */
function differs(one: ObservedLock, other: ObservedLock): boolean {
  const [holder] = one.holders;
  const [now] = other.holders;
  return (
    one.version !== other.version ||
    one.kind !== other.kind ||
    one.state !== other.state ||
    one.waiterCount !== other.waiterCount ||
    one.waiterUnit !== other.waiterUnit ||
    one.holderCount !== other.holderCount ||
    one.denied !== other.denied ||
    one.oldestWait.atMs !== other.oldestWait.atMs ||
    holder?.lease !== now?.lease ||
    holder?.holdCount !== now?.holdCount ||
    holder?.identity?.label !== now?.identity?.label ||
    holder?.identity?.host !== now?.identity?.host
  );
}
