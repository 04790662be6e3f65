import type { Millis, RecordReader, Runtime } from "@holdfast/core";
import { ReplyError, recordKeys } from "@holdfast/redis-recipes/internal";
import { whoIs } from "../judge/who-is.js";
import { actUpon, denied, tryOutUpon } from "../kit/action.js";
import { Attention } from "../kit/attention.js";
import { fewOfAKind } from "../kit/few-of-a-kind.js";
import { Listeners } from "../kit/listeners.js";
import type {
  ActionOffer,
  ActionRequest,
  ActionResult,
  ActionTrial,
  CollectorEvent,
  Discovery,
  Finding,
  LockCollector,
  ObservedServer,
  SourceStatus,
} from "../observe/collector.js";
import type {
  LockFigures,
  ObservedLock,
  ObservedLockDetail,
  ObservedSession,
  SessionContact,
} from "../observe/observed-lock.js";
import { ActionRunner } from "./action-runner.js";
import { type ActionParts, actOn } from "./actions.js";
import { Book } from "./book.js";
import { Channels } from "./channels.js";
import { readDetail } from "./detail.js";
import { discover } from "./discover.js";
import { Identities } from "./identities.js";
import { Patterns } from "./key-names.js";
import type { Link } from "./link.js";
import type { LockRecord } from "./lock-record.js";
import type { RedisCollectorOptions, ResolvedCollectorOptions } from "./options.js";
import { resolveCollectorOptions } from "./options.js";
import { openPlaces, type Places } from "./places.js";
import { PolledSource } from "./polled-source.js";
import { Reader } from "./reader.js";
import type { Reading } from "./reading.js";
import { learntAtOnce, Rounds, serversEveryMs } from "./rounds.js";
import { Rows } from "./rows.js";
import { Scan } from "./scan.js";
import { Servers } from "./servers.js";
import { sessionsOf } from "./sessions.js";

/**
 * Watches the locks of Redisson and holdfast on one Redis: a server, a master behind sentinels, or a cluster. Returns at once and connects in
 * the background, with connections of its own even where a client is given. It only reads, except for `act`.
 *
 * An ACL user needs `+@read +@connection +scan +info +time +dbsize +multi +exec +pubsub|channels +pubsub|numsub
 * +pubsub|shardchannels +pubsub|shardnumsub`, in a cluster `+cluster|slots +readonly`, `~*`; for actions it needs what locks
 * need. Without `+eval_ro` reads cost more.
 *
 * Throws `InvalidArgumentError` for unknown options and values that cannot be right.
 */
export function redisCollector(options: RedisCollectorOptions): RedisCollector {
  return new Collector(resolveCollectorOptions(options));
}

const notMeant = "No pattern of this collector fits its name.";

/** A collector of Redis, with what it can report beyond other collectors. */
export interface RedisCollector extends LockCollector {
  /** The kind of backend. */
  readonly backend: "redis";
  /** The records of the providers with this `keyPrefix` (default none), read over the connections of this collector. */
  records(place?: { readonly keyPrefix?: string }): RecordReader;
}

class Collector implements RedisCollector {
  readonly backend = "redis";
  readonly #runtime: Runtime;
  /** Whether the patterns include the lock. A lock outside of them is neither shown nor acted upon. Without patterns every lock is included. */
  readonly #isMeant: (key: string) => boolean;
  readonly #places: Places;
  readonly #book: Book;
  readonly #rows: Rows;
  readonly #channels = new Channels();
  readonly #identities: Identities;
  readonly #reader: Reader;
  readonly #scan: Scan;
  readonly #servers: Servers;
  readonly #actions: ActionParts;
  readonly #rounds: Rounds;
  readonly #sources: {
    readonly scan: PolledSource;
    readonly channels: PolledSource;
    readonly rows: PolledSource;
    readonly servers: PolledSource;
  };
  readonly #listeners = new Listeners();
  /** When the first whole pass over the keys of a master began. */
  readonly #watchedSinceMs = new WeakMap<Link, Millis>();
  readonly #attention = new Attention();
  #closed = false;

  constructor(options: ResolvedCollectorOptions) {
    const { runtime, patterns, scanCallsPerSecond, channelsEveryMs, rowsEveryMs } = options;
    const meant = new Patterns(patterns);
    this.#isMeant = (key) => patterns.length === 0 || meant.includes(key);
    this.#runtime = runtime;
    this.#places = openPlaces(options.target, runtime);
    this.#identities = new Identities(this.#places, runtime);
    this.#book = new Book({
      listeners: (key) => this.#channels.of(key),
      listening: () => this.#channels.known,
      emit: (event) => {
        const begins = event.type === "granted" || event.type === "found";
        if (options.identifyHolders && begins && !event.owner?.identity) this.#rounds.meet(event.key);
        this.#listeners.emit(event);
      },
      attended: (key) => this.#attention.has(key),
      identityOf: (uuid) => this.#identities.of(uuid).identity,
      contactSinceMs: (key) => this.#places.masterOf(key)?.readySinceMs ?? Number.POSITIVE_INFINITY,
      watchedSinceMs: (key) => {
        const master = this.#places.masterOf(key);
        return (master && this.#watchedSinceMs.get(master)) ?? Number.POSITIVE_INFINITY;
      },
      earlierSight: options.earlierSight,
    });
    this.#rows = new Rows((uuid) => this.#identities.of(uuid).identity);
    this.#reader = new Reader(this.#places, runtime, (reading) => this.#took(reading));
    this.#servers = new Servers(this.#places, () => runtime.wallMs());
    const scanCost = `scan ${scanCallsPerSecond} calls/s of ${options.scanCount} keys for each master`;
    this.#sources = {
      scan: new PolledSource("scan", scanCost, 600_000),
      channels: new PolledSource("pubsub", `PUBSUB every ${channelsEveryMs} ms`, 5 * channelsEveryMs),
      rows: new PolledSource("rows", `rows on screen every ${rowsEveryMs} ms`, 10_000),
      servers: new PolledSource("servers", `INFO every ${serversEveryMs} ms`, 5 * serversEveryMs),
    };
    this.#scan = new Scan({
      places: this.#places,
      runtime,
      reader: this.#reader,
      patterns: meant,
      callsPerSecond: patterns.length === 0 ? 0 : scanCallsPerSecond,
      count: options.scanCount,
      state: this.#sources.scan,
      keyFor: (lock) => this.#book.keyFor(lock),
      readSince: (key, readMs) => (this.#book.records.get(key)?.orderMs ?? -Infinity) >= readMs,
      passed: (link, from) => this.#passed(link, from),
      onPass: (tookMs) => this.#listeners.emit({ type: "pass", source: "scan", tookMs }),
      onStatus: () => this.#listeners.emit({ type: "status" }),
    });
    if (patterns.length === 0) {
      this.#sources.scan.off(
        "no patterns are configured, so only locks with waiters are found; any lock can be looked up by its name",
      );
    } else if (scanCallsPerSecond === 0) this.#sources.scan.off("switched off: scanCallsPerSecond is 0");
    this.#actions = {
      runner: new ActionRunner(this.#places, runtime, options),
      reread: (key) => this.#reread(key),
      rowOf: (record) => this.#rows.lock(record),
      whoIs: (owner) => whoIs(this.#rows.person(owner)),
    };
    this.#rounds = new Rounds({
      runtime,
      places: this.#places,
      book: this.#book,
      reader: this.#reader,
      channels: this.#channels,
      identities: this.#identities,
      scan: this.#scan,
      servers: this.#servers,
      attention: this.#attention,
      isMeant: this.#isMeant,
      channelsEveryMs,
      rowsEveryMs,
      sources: this.#sources,
      onStatus: () => this.#listeners.emit({ type: "status" }),
    });
    this.#rounds.begin();
  }

  sources(): readonly SourceStatus[] {
    const nowMs = this.#runtime.wallMs();
    return Object.values(this.#sources).map((each) => each.status(nowMs));
  }

  *locks(): Generator<ObservedLock> {
    for (const record of this.#book.records.values()) yield this.#rows.lock(record);
  }

  figures(which: "all" | "contended" = "all"): Iterable<LockFigures> {
    return which === "all" ? this.#book.records.values() : this.#book.contendedRecords();
  }

  get(key: string): ObservedLock | undefined {
    const record = this.#book.records.get(key);
    return record === undefined ? undefined : this.#rows.lock(record);
  }

  get size(): number {
    return this.#book.records.size;
  }

  isHeldBy(key: string, text: string): boolean {
    const record = this.#book.records.get(key);
    return record !== undefined && this.#rows.isHeldBy(record, text);
  }

  records({ keyPrefix = "" } = {}): RecordReader {
    return {
      record: (name) => ({
        name,
        read: async () => {
          const key = recordKeys(keyPrefix + name).text;
          const [text] = await this.#master(key).send([["get", key]]);
          if (text instanceof ReplyError) throw text;
          return typeof text === "string" && text !== "" ? text : null;
        },
      }),
    };
  }

  async detail(
    key: string,
    { maxWaiters }: { readonly maxWaiters: number },
  ): Promise<ObservedLockDetail | null> {
    if (!this.#isMeant(key)) return null;
    return readDetail(key, maxWaiters, {
      link: this.#master(key),
      book: this.#book,
      rows: this.#rows,
      channels: this.#channels,
      runtime: this.#runtime,
      learn: (uuids) => this.#identities.learn(uuids, learntAtOnce),
    });
  }

  attend(keys: readonly string[]): { update(keys: readonly string[]): void; end(): void } {
    const meant = (wanted: readonly string[]): string[] => wanted.filter((key) => this.#isMeant(key));
    const attention = this.#attention.attend(meant(keys));
    return { update: (wanted) => attention.update(meant(wanted)), end: () => attention.end() };
  }

  onEvent(listener: (event: CollectorEvent) => void): () => void {
    return this.#listeners.add(listener);
  }

  async sessions(): Promise<readonly ObservedSession[]> {
    return sessionsOf(this.#book, this.#channels, this.#identities, async (keys) => {
      const details = await Promise.all(
        // A lock that cannot be read now is left out; the sources report the trouble of its server.
        keys.map((key) => this.detail(key, { maxWaiters: 200 }).catch(() => null)),
      );
      return new Map(details.flatMap((each) => (each === null ? [] : [[each.key, each.waiters] as const])));
    });
  }

  async contacts(): Promise<readonly SessionContact[]> {
    return [];
  }

  servers(): Promise<readonly ObservedServer[]> {
    return this.#servers.read();
  }

  findings(): readonly Finding[] {
    return fewOfAKind(this.#troubles());
  }

  *#troubles(): Generator<Finding> {
    yield* this.#servers.findings;
    for (const record of this.#book.troubled) yield* record.findings;
  }

  discover(): Promise<readonly Discovery[]> {
    return discover(this.#places.masters(), this.#channels.locks);
  }

  async tryOut(
    seen: ObservedLockDetail,
    acts: readonly ActionOffer[],
    signal?: AbortSignal,
  ): Promise<readonly ActionTrial[]> {
    return this.#isMeant(seen.key)
      ? tryOutUpon(actOn(this.#actions, seen.key), seen, acts, signal)
      : acts.map(() => denied(notMeant));
  }

  async act(request: ActionRequest): Promise<ActionResult> {
    return this.#isMeant(request.key)
      ? actUpon(actOn(this.#actions, request.key), request)
      : denied(notMeant);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#scan.close();
    this.#rounds.close();
    this.#listeners.clear();
    await this.#places.close();
  }

  #took(reading: Reading): void {
    if (!this.#closed) this.#book.apply(reading);
  }

  /** Reads the locks of one master again that the pass has not met: they are gone, or the pass missed them. */
  async #passed(link: Link, from: Pick<Reading, "atMs" | "readMs">): Promise<void> {
    if (!this.#watchedSinceMs.has(link)) this.#watchedSinceMs.set(link, from.atMs);
    const missed: string[] = [];
    for (const { key, orderMs } of this.#book.records.values())
      if (orderMs < from.readMs && this.#places.masterOf(key) === link) missed.push(key);
    await this.#reader.readAt(link, missed, "full");
  }

  async #reread(key: string): Promise<LockRecord | null> {
    this.#master(key);
    await this.#reader.read([key], "full");
    return this.#book.records.get(key) ?? null;
  }

  #master(key: string): Link {
    const link = this.#places.masterOf(key);
    if (link === null) throw new Error(`no server is known that serves ${JSON.stringify(key)}`);
    return link;
  }
}
