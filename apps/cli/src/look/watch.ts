import { once } from "node:events";
import type {
  CollectorEvent,
  LockCollector,
  ObservedLockDetail,
  ObservedParticipant,
} from "@holdfast/collectors";
import { shownName, span, visible, whoIs } from "@holdfast/collectors/internal";
import type { Command, Io } from "../command.js";
import { jsonOfParticipant, printJsonLine } from "./json.js";
import { looking, type View } from "./looking.js";
import { listSources, matcherOf, maxWaiters, readAll, wholeList } from "./reading.js";
import { holdersOf, many, timeOfDay } from "./words.js";

/**
 * At most this many locks are attended, so that their data stays as fresh as possible. On Redis, changes of the other
 * locks are seen a little later.
 */
const mostAttended = 2_000;
/** At most this many changes wait for the read that names their owners. Changes beyond that are printed with the entry alone. */
const mostPending = 200;

/** A hold has begun or ended. */
type HoldEvent = Extract<CollectorEvent, { type: "granted" | "released" }>;

/** What has happened to a lock. */
interface Change {
  readonly event: "granted" | "released" | "lost" | "waits";
  readonly atMs: number;
  readonly lock: string;
  readonly entry: string | null;
  /** The participant, as far as it is known. */
  readonly who: ObservedParticipant | null;
  readonly token: string | null;
  readonly heldMs: number | null;
  readonly waiterCount: number | null;
  /** The holder of the lock, for an event of a waiter. */
  readonly heldBy: string | null;
}

export const watch: Command = {
  name: "watch",
  summary: "prints each change of locks as it happens",
  usage: `Usage: holdfast watch [PATTERN] [--json]

Prints a line for each grant, each release, each hold that was lost because its lease ran out, and, where more wait
than before, each new waiter, until it is interrupted, or its output is not read any more. PATTERN as of ls. A
release by force, and on ZooKeeper the end of a session, looks like a release from outside. A client that begins to
wait as another one gives up is not seen, and behind ${maxWaiters} waiters one line without a name is for all that came at once.

  --json   one JSON object a line`,
  options: {},
  run: (given, io) =>
    looking(given, io, async (view, pattern) => {
      const { collector, address } = view;
      for (const note of await wholeList(collector, address, io.signal)) io.err(`holdfast: ${note}\n`);
      const watcher = new Watcher(view, io, {
        pattern,
        print: given.values.json === true ? printJsonOf(io) : (change) => io.out(`${lineOf(change)}\n`),
      });
      await watcher.begin();
      io.err(`holdfast: watching ${address}, ${many(collector.size, "lock")} known; an interrupt ends it\n`);
      const over = AbortSignal.any([
        io.signal,
        watcher.failed,
        ...(io.unread === undefined ? [] : [io.unread]),
      ]);
      if (!over.aborted) await once(over, "abort");
      await watcher.end();
      if (watcher.failed.aborted) throw watcher.failed.reason;
      return 0;
    }),
};

interface Watching {
  readonly pattern: string | undefined;
  readonly print: (change: Change) => void;
}

/** Prints a line for each event of a collector, in the order of the events. */
export class Watcher {
  readonly #collector: LockCollector;
  readonly #address: string;
  readonly #io: Io;
  readonly #fits: (key: string) => boolean;
  readonly #print: (change: Change) => void;
  /** The holders, by lock and entry. They are remembered because the backend no longer names the holder when a hold ends. */
  readonly #holders = new Map<string, ObservedParticipant>();
  /** The holds that are known to have begun, by lock and entry. */
  readonly #told = new Set<string>();
  readonly #waiterCounts = new Map<string, number>();
  readonly #attended = new Set<string>();
  /**
   * Attended locks that are free or gone. They make room for other locks. On Redis a free lock is removed only when it
   * is no longer attended.
   */
  readonly #spare = new Set<string>();
  readonly #attention: ReturnType<LockCollector["attend"]>;
  #off: () => void = () => {};
  #last: Promise<void> = Promise.resolve();
  #pending = 0;
  /** Why changes are not seen, as it was last printed; `null` while all changes are seen. */
  #blind: string | null;
  readonly #failed = new AbortController();

  constructor({ collector, address }: View, io: Io, { pattern, print }: Watching) {
    this.#collector = collector;
    this.#address = address;
    this.#io = io;
    this.#fits = matcherOf(pattern);
    this.#print = print;
    // The notes on the list have already named what could not be read from the start.
    this.#blind = unreadOf(collector);
    // A whole name is attended even before a lock of that name exists.
    if (pattern !== undefined && !/[*?]/.test(pattern)) this.#attended.add(pattern);
    this.#attention = collector.attend([...this.#attended]);
  }

  async begin(): Promise<void> {
    const rows = [...this.#collector.locks()].filter(({ key }) => this.#fits(key));
    for (const { key, waiterCount, holders } of rows) {
      this.#waiterCounts.set(key, waiterCount);
      for (const { entry } of holders) this.#told.add(nameOf(key, entry));
    }
    for (const { key, state } of rows) this.#attend(key, state === "idle");
    this.#off = this.#collector.onEvent((event) => this.#heard(event));
    // A hold may end while it is read. If it stayed remembered, the next hold of the same name would not be printed.
    const ended = new Set<string>();
    const off = this.#collector.onEvent((event) => {
      if (event.type === "released" || event.type === "unwatched") ended.add(nameOf(event.key, event.entry));
    });
    const read = await readAll(this.#collector, rows.slice(0, mostPending)).finally(off);
    for (const lock of read) this.#remember(lock, ended);
  }

  /** Aborts with the error that made a line fail, such as a full disk. */
  get failed(): AbortSignal {
    return this.#failed.signal;
  }

  /** Resolves when all events that have arrived are printed. */
  async end(): Promise<void> {
    this.#off();
    this.#attention.end();
    await this.#last;
  }

  #heard(event: CollectorEvent): void {
    if (event.type === "status") this.#contact();
    if (!("key" in event) || !this.#fits(event.key)) return;
    const { key } = event;
    if (event.type === "changed") {
      const row = this.#collector.get(key);
      this.#attend(key, (row?.state ?? "idle") === "idle");
      const count = row?.waiterCount ?? 0;
      const before = this.#waiterCounts.get(key) ?? 0;
      this.#waiterCounts.set(key, count);
      if (count > before) this.#waits(key, before, count);
      this.#look(key);
    }
    if (event.type === "removed") {
      this.#waiterCounts.delete(key);
      if (this.#attended.has(key)) this.#spare.add(key);
    }
    if (event.type === "granted") this.#granted(event);
    if (event.type === "released") this.#released(event);
    if (event.type === "unwatched") this.#forget(event);
  }

  /** The hold may go on unseen. A later hold may have the same name. */
  #forget({ key, entry }: { readonly key: string; readonly entry: string }): void {
    const name = nameOf(key, entry);
    this.#told.delete(name);
    this.#then(async () => void this.#holders.delete(name));
  }

  #released({ key, entry, atMs, token, heldMs, ranOut }: HoldEvent): void {
    const name = nameOf(key, entry);
    this.#told.delete(name);
    this.#then(async () => {
      const who = this.#holders.get(name) ?? null;
      this.#holders.delete(name);
      this.#tell({
        event: ranOut === true ? "lost" : "released",
        atMs,
        lock: key,
        entry,
        who,
        token,
        heldMs,
      });
    });
  }

  /**
   * Prints the holds of a lock that a Redis scan has just found. They bring no `granted` event, because the collector
   * has never seen the lock free.
   */
  #look(key: string): void {
    for (const { entry, since, token } of this.#collector.get(key)?.holders ?? [])
      this.#granted({ type: "granted", key, entry, token, atMs: since.atMs ?? Date.now(), heldMs: null });
  }

  #granted({ key, entry, atMs, token }: HoldEvent): void {
    const name = nameOf(key, entry);
    if (this.#told.has(name)) return;
    this.#told.add(name);
    this.#then(async (detail) => {
      const lock = await detail(key);
      const who = lock?.holders.find((one) => one.entry === entry) ?? null;
      if (who !== null) this.#holders.set(name, who);
      this.#tell({ event: "granted", atMs, lock: key, entry, who, token: who?.token ?? token });
    });
  }

  /**
   * A queue grows at its end, so the last waiters are the new ones. New waiters whose names were not read are printed
   * as one line.
   */
  #waits(key: string, before: number, count: number): void {
    const atMs = Date.now();
    this.#then(async (detail) => {
      const lock = await detail(key);
      // Waiters at the front may have been granted the lock before this read.
      const gone = Math.max(0, count - (lock?.waiterCount ?? 0));
      const named = lock?.waiters.slice(Math.max(0, before - gone), Math.max(0, count - gone)) ?? [];
      const heldBy = lock === null || lock.holders.length === 0 ? null : holdersOf(lock);
      const change = { event: "waits", atMs, lock: key, heldBy } as const;
      for (const [at, who] of named.entries())
        this.#tell({ ...change, entry: who.entry, who, waiterCount: before + at + 1 });
      if (named.length < count - before)
        this.#tell({ ...change, entry: null, who: null, waiterCount: count });
    });
  }

  #tell(change: Pick<Change, "event" | "atMs" | "lock" | "entry" | "who"> & Partial<Change>): void {
    this.#print({ token: null, heldMs: null, waiterCount: null, heldBy: null, ...change });
  }

  /** Runs the work one after the other, reads included, so that lines are printed in the order of the events. */
  #then(work: (detail: (key: string) => Promise<ObservedLockDetail | null>) => Promise<void>): void {
    const busy = this.#pending >= mostPending;
    this.#pending += 1;
    // If the backend does not answer, the line has less in it. The loss of contact is printed as a line of its own.
    const detail = async (key: string): Promise<ObservedLockDetail | null> =>
      busy ? null : this.#collector.detail(key, { maxWaiters }).catch(() => null);
    this.#last = this.#last
      .then(() => work(detail))
      .catch((error) => this.#failed.abort(error))
      .finally(() => {
        this.#pending -= 1;
      });
  }

  #attend(key: string, isFree: boolean): void {
    if (!this.#attended.has(key)) {
      if (this.#attended.size >= mostAttended) {
        const [spare] = this.#spare;
        if (isFree || spare === undefined) return;
        this.#spare.delete(spare);
        this.#attended.delete(spare);
      }
      this.#attended.add(key);
      this.#attention.update([...this.#attended]);
    }
    if (isFree) this.#spare.add(key);
    else this.#spare.delete(key);
  }

  /** `ended` has the names of the holds that ended while they were read. */
  #remember({ key, holders }: ObservedLockDetail, ended: ReadonlySet<string>): void {
    for (const one of holders) {
      const name = nameOf(key, one.entry);
      if (ended.has(name)) continue;
      this.#told.add(name);
      this.#holders.set(name, one);
    }
  }

  #contact(): void {
    const away = this.#collector.sources().some(({ state }) => state === "stale" || state === "down");
    const blind = away ? "no contact: changes are not seen until it is back" : unreadOf(this.#collector);
    if (blind === this.#blind) return;
    this.#blind = blind;
    const what = blind ?? "contact is back; changes in between may be missing";
    this.#io.err(`holdfast: ${this.#address}: ${what}\n`);
  }
}

/**
 * Why some locks are not read although there is contact. This is printed, so that silence about those locks is not
 * taken for "nothing changes".
 */
function unreadOf(collector: LockCollector): string | null {
  const unread = listSources(collector).find(({ state }) => state === "too-big" || state === "denied");
  return unread?.message ?? null;
}

/** The name of one hold, unique among all watched locks. */
function nameOf(key: string, entry: string): string {
  return `${key}\0${entry}`;
}

function lineOf(change: Change): string {
  const { event, atMs, lock, entry, who, token, heldMs, waiterCount, heldBy } = change;
  const name = who === null ? visible(entry ?? "a waiter") : whoIs(who);
  const more: Readonly<Record<Change["event"], string>> = {
    granted: `to ${name}${token === null ? "" : `, token ${visible(token)}`}`,
    released: `by ${name}${heldMs === null ? "" : `, held for ${span(heldMs)}`}`,
    lost: `by ${name}: its lease ran out`,
    waits: `${name}, ${waiterCount} waiting${heldBy === null ? "" : `, held by ${heldBy}`}`,
  };
  return `${timeOfDay(atMs)}  ${event.padEnd(8)}  ${shownName(lock)}  ${more[event]}`;
}

function printJsonOf(io: Io): (change: Change) => void {
  return ({ event, atMs, lock, entry, who, ...more }) =>
    printJsonLine(io, {
      event,
      atMs,
      lock,
      entry,
      ...more,
      who: who === null ? null : jsonOfParticipant(who),
    });
}
