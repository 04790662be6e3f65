import type { Millis } from "@holdfast/core";
import { RecentMap } from "@holdfast/core/internal";
import { earliest, unknownMoment } from "../kit/moment.js";
import type { Listeners } from "./channels.js";
import { type FollowingParts, followHolders, followQueue, ownerOf } from "./following.js";
import { findingsOf } from "./lock-findings.js";
import { LockRecord } from "./lock-record.js";
import { isBelow } from "./owner-words.js";
import { noHash, type Reading } from "./reading.js";
import { foreignListeners, hidesWaiters, kindOf } from "./waiting-kinds.js";

/** The most locks that are gone and whose highest token is remembered. */
const rememberedTokens = 10_000;

export interface BookParts extends FollowingParts {
  readonly listeners: (key: string) => Listeners | undefined;
  /** Whether anything is known of listeners at all. */
  readonly listening: () => boolean;
  readonly attended: (key: string) => boolean;
}

/** All locks that were seen, as they were last read. */
export class Book {
  readonly records: Map<string, LockRecord> = new Map();
  /** Locks with waiters, to be read again often. */
  readonly contended: Set<string> = new Set();
  readonly empty: Set<string> = new Set();
  readonly troubled: Set<LockRecord> = new Set();
  readonly #tokens = new RecentMap<string, string>(rememberedTokens);
  readonly #parts: BookParts;

  constructor(parts: BookParts) {
    this.#parts = parts;
  }

  /** The key of the lock with this name. Its side keys do not show whether the lock's own key has braces around the name. */
  keyFor(name: string): string {
    const braced = `{${name}}`;
    return !this.records.has(name) && this.records.has(braced) ? braced : name;
  }

  *contendedRecords(): Generator<LockRecord> {
    for (const key of this.contended) {
      const record = this.records.get(key);
      if (record !== undefined) yield record;
    }
  }

  /** Takes over a reading. `null`: nothing at the key is known as a lock. */
  apply(reading: Reading): LockRecord | null {
    const { key, atMs, readMs, token, denied, beside } = reading;
    const known = this.records.get(key);
    // A slim reading cannot distinguish permits from any other text, so the record stays as it is until the key is read in
    // full.
    if (reading.shape.is === "other" && reading.shape.what === noHash && known?.shape.is === "permits")
      return known;
    const nothing = reading.shape.is === "nothing" && !someoneWaits(reading, known);
    const foreign = reading.shape.is === "other" || !this.#isLock(reading, known);
    if (foreign || (nothing && known === undefined && !this.#parts.attended(key))) {
      if (known !== undefined) this.remove(key);
      return null;
    }
    if (known !== undefined && readMs < known.orderMs) return known;
    const record = known ?? this.#begin(key);
    const before = known === undefined ? null : lookOf(known);
    const raised = followHolders(record, reading, known !== undefined, this.#parts);
    if (beside !== null) followQueue(record, beside, atMs);
    record.date(reading);
    record.token = token;
    record.denied = denied;
    this.#judge(record, nothing);
    if (raised || before !== lookOf(record)) this.#parts.emit({ type: "changed", key });
    return record;
  }

  /** The listeners of the lock have changed since it was judged. */
  heard(key: string): void {
    const record = this.records.get(key);
    if (record === undefined) return;
    const before = lookOf(record);
    this.#judge(record, record.emptySinceMs !== null);
    if (before !== lookOf(record)) this.#parts.emit({ type: "changed", key });
  }

  /** The identity of a client that holds the lock has become known. */
  introduced(key: string): void {
    const record = this.records.get(key);
    if (record === undefined) return;
    const known = record.followed
      .map(({ field }) => ({ field, owner: ownerOf(field, record.token, this.#parts.identityOf) }))
      .filter(({ owner }) => owner.identity !== null);
    for (const { field, owner } of known) this.#parts.emit({ type: "identified", key, entry: field, owner });
    if (known.length > 0) this.#parts.emit({ type: "changed", key });
  }

  remove(key: string): void {
    const record = this.records.get(key);
    if (record === undefined) return;
    this.records.delete(key);
    this.contended.delete(key);
    this.empty.delete(key);
    this.troubled.delete(record);
    if (record.highestToken !== null) this.#tokens.set(key, record.highestToken);
    // The record has holders only where its key is no lock any more, or may not be read. Nothing shows whether or when their
    // holds ended.
    for (const { field } of record.followed) this.#parts.emit({ type: "unwatched", key, entry: field });
    this.#parts.emit({ type: "removed", key });
  }

  /** Removes the locks that could be read and were empty for longer than `afterMs`. */
  sweep(nowMs: Millis, afterMs: Millis): void {
    for (const key of [...this.empty]) {
      const since = this.records.get(key)?.emptySinceMs ?? null;
      if (since === null) this.empty.delete(key);
      else if (nowMs - since > afterMs && !this.#parts.attended(key)) this.remove(key);
    }
  }

  /**
   * A number alone may belong to any program. Only side keys, listeners or what was known before make it a semaphore or a
   * latch.
   */
  #isLock({ shape, token, key }: Reading, known: LockRecord | undefined): boolean {
    if (shape.is !== "permits") return true;
    const listeners = this.#parts.listeners(key);
    return (
      known?.kind === "semaphore" ||
      token !== null ||
      (shape.grants ?? 0) > 0 ||
      (listeners !== undefined && listeners.semaphore + listeners.latch > 0) ||
      known?.kind === "permit-semaphore"
    );
  }

  #begin(key: string): LockRecord {
    const record = new LockRecord(key, this.#tokens.get(key) ?? null);
    this.records.set(key, record);
    return record;
  }

  /** Derives kind, counts, state and findings from the reading and from the listeners. */
  #judge(record: LockRecord, nothing: boolean): void {
    const { key, shape, followed, queued, atMs, token } = record;
    const listeners = this.#parts.listeners(key);
    const kind = kindOf(record, listeners);
    const connections = foreignListeners(kind, record, listeners);
    record.kind = kind;
    record.holderCount =
      shape.is === "permits" ? (shape.grants ?? 0) : shape.is === "barrier" ? 0 : followed.length;
    record.waiterCount = queued + connections;
    // Permits without leases do not show their holders. That none is left shows that they are held.
    const taken = kind === "semaphore" && shape.is === "permits" && shape.free <= 0;
    record.state = record.waiterCount > 0 ? "contended" : record.holderCount > 0 || taken ? "held" : "idle";
    record.waiterUnit = this.#unitOf(record, connections);
    record.oldestWait =
      queued > 0
        ? record.queue.since
        : connections > 0 && listeners !== undefined
          ? { atMs: listeners.sinceMs, provenance: "at-least" }
          : unknownMoment;
    record.oldestHold = earliest(followed.map(({ since }) => since));
    if (record.state === "contended") this.contended.add(key);
    else this.contended.delete(key);
    if (nothing) {
      record.emptySinceMs ??= atMs;
      this.empty.add(key);
    } else {
      record.emptySinceMs = null;
      this.empty.delete(key);
    }
    const ownerless = record.holderCount === 0 && queued > 0;
    record.ownerlessSinceMs = ownerless ? (record.ownerlessSinceMs ?? atMs) : null;
    record.findings = findingsOf(record, listeners);
    if (token !== null && (record.highestToken === null || isBelow(record.highestToken, token)))
      record.highestToken = token;
    if (record.findings.length > 0) this.troubled.add(record);
    else this.troubled.delete(record);
  }

  #unitOf({ kind, fair, queued }: LockRecord, connections: number): LockRecord["waiterUnit"] {
    if (connections > 0) return "connections";
    if (queued > 0 || fair || kind === "leader-election") return "participants";
    return this.#parts.listening() || !hidesWaiters(kind) ? "connections" : "hidden";
  }
}

function someoneWaits({ beside }: Reading, known: LockRecord | undefined): boolean {
  if (beside !== null) return beside.waiters + beside.queue > 0;
  return known !== undefined && known.queued > 0;
}

/** Everything that a viewer would see of the lock, except the passing of time. */
function lookOf(record: LockRecord): string {
  const { shape, followed, kind, state, waiterCount, waiterUnit, holderCount, token, denied } = record;
  const first = followed[0];
  const words = [kind, state, waiterCount, waiterUnit, holderCount, token, denied, record.oldestWait.atMs];
  const inside =
    shape.is === "permits"
      ? [shape.free, shape.grants]
      : shape.is === "lock"
        ? [shape.mode, first?.count, first?.lease.state, ...followed.map(({ field }) => field)]
        : [];
  return [...words, shape.is, ...inside].join("\n");
}
