import type { Millis, Runtime } from "@holdfast/core";
import type {
  ActionRequest,
  ActionResult,
  CollectorEvent,
  Discovery,
  Finding,
  LockCollector,
  ObservedLock,
  ObservedLockDetail,
  ObservedServer,
  ObservedSession,
  SourceStatus,
} from "@holdfast/core/observe";
import { parseOwner } from "../layout/owners.js";
import { Actions } from "./actions.js";
import { Book, type LockRecord, ownerIn } from "./book.js";
import { Channels } from "./channels.js";
import { readDetail } from "./detail.js";
import { discover } from "./discover.js";
import { Identities } from "./identities.js";
import { Patterns } from "./key-names.js";
import type { Link } from "./link.js";
import type { RedisCollectorOptions, ResolvedCollectorOptions } from "./options.js";
import { resolveCollectorOptions } from "./options.js";
import { openPlaces, type Places } from "./places.js";
import { Reader } from "./reader.js";
import type { Reading } from "./reading.js";
import { Scan } from "./scan.js";
import { Servers } from "./servers.js";
import { sessionsOf } from "./sessions.js";
import { SourceState } from "./source-state.js";

/** A lock that nobody holds or waits for any more leaves the list after this. */
const emptyForMs: Millis = 5_000;
/** So many contended locks are read again between two looks at the channels. */
const contendedAtOnce = 2_000;
const serversEveryMs: Millis = 10_000;
const attendedAtMost = 2_000;
const learntAtOnce = 500;

/**
 * Watches the locks of Redisson and holdfast on one Redis: a server, a master behind sentinels, or a cluster. Returns at once and connects in
 * the background, with connections of its own, also where a client is given. Reads alone, but for `act`.
 *
 * An ACL user needs `+@read +@connection +scan +info +time +dbsize +multi +exec +pubsub|channels +pubsub|numsub
 * +pubsub|shardchannels +pubsub|shardnumsub`, in a cluster `+cluster|slots +readonly`, `~*`; for actions what locks need.
 *
 * Throws `InvalidArgumentError` for unknown options and values that cannot be right.
 */
export function redisCollector(options: RedisCollectorOptions): LockCollector {
  return new RedisCollector(resolveCollectorOptions(options));
}

class RedisCollector implements LockCollector {
  readonly backend = "redis";
  readonly #options: ResolvedCollectorOptions;
  readonly #runtime: Runtime;
  readonly #places: Places;
  readonly #book: Book;
  readonly #channels = new Channels();
  readonly #identities: Identities;
  readonly #reader: Reader;
  readonly #scan: Scan;
  readonly #servers: Servers;
  readonly #actions: Actions;
  readonly #patterns: Patterns;
  readonly #sources: {
    readonly scan: SourceState;
    readonly channels: SourceState;
    readonly rows: SourceState;
    readonly servers: SourceState;
  };
  readonly #listeners = new Set<(event: CollectorEvent) => void>();
  readonly #attended = new Map<string, number>();
  readonly #cancels = new Set<() => void>();
  #turn = 0;
  #closed = false;

  constructor(options: ResolvedCollectorOptions) {
    const { runtime, patterns, scanCallsPerSecond, channelsEveryMs, rowsEveryMs } = options;
    this.#options = options;
    this.#runtime = runtime;
    this.#patterns = new Patterns(patterns);
    this.#places = openPlaces(options.target, runtime);
    this.#identities = new Identities(this.#places, runtime);
    this.#book = new Book({
      listeners: (key) => this.#channels.of(key),
      listening: () => this.#channels.known,
      identity: (uuid) => this.#identities.of(uuid).identity,
      emit: (event) => this.#emit(event),
      attended: (key) => this.#attended.has(key),
    });
    this.#reader = new Reader(this.#places, runtime, (reading) => this.#took(reading));
    this.#servers = new Servers(this.#places, () => runtime.wallMs());
    const scanCost = `scan ${scanCallsPerSecond} calls/s of ${options.scanCount} keys for each master`;
    this.#sources = {
      scan: new SourceState("scan", scanCost, 600_000),
      channels: new SourceState("pubsub", `PUBSUB every ${channelsEveryMs} ms`, 5 * channelsEveryMs),
      rows: new SourceState("rows", `rows on screen every ${rowsEveryMs} ms`, 10_000),
      servers: new SourceState("servers", `INFO every ${serversEveryMs} ms`, 5 * serversEveryMs),
    };
    this.#scan = new Scan({
      places: this.#places,
      runtime,
      reader: this.#reader,
      patterns: this.#patterns,
      callsPerSecond: patterns.length === 0 ? 0 : scanCallsPerSecond,
      count: options.scanCount,
      state: this.#sources.scan,
      keyFor: (lock) => this.#book.keyFor(lock),
      readSince: (key, atMs) => (this.#book.records.get(key)?.reading.atMs ?? 0) >= atMs,
      passed: (link, fromMs) => this.#passed(link, fromMs),
      onStatus: () => this.#emit({ type: "status" }),
    });
    if (patterns.length === 0) {
      this.#sources.scan.off(
        "no patterns are configured, so only locks that somebody waits for are found; locks can be looked up by name",
      );
    } else if (scanCallsPerSecond === 0) this.#sources.scan.off("switched off: scanCallsPerSecond is 0");
    this.#actions = new Actions({
      places: this.#places,
      fairLockWaitTimeoutMs: options.fairLockWaitTimeoutMs,
      reread: (key) => this.#reread(key),
    });
    this.#every(channelsEveryMs, () => this.#look());
    this.#every(rowsEveryMs, () => this.#readRows());
    this.#every(serversEveryMs, () => this.#readServers());
  }

  sources(): readonly SourceStatus[] {
    const nowMs = this.#runtime.wallMs();
    return Object.values(this.#sources).map((each) => each.status(nowMs));
  }

  *locks(): Generator<ObservedLock> {
    for (const record of this.#book.records.values()) yield record.lock;
  }

  get(key: string): ObservedLock | undefined {
    return this.#book.records.get(key)?.lock;
  }

  get size(): number {
    return this.#book.records.size;
  }

  async detail(
    key: string,
    { maxWaiters }: { readonly maxWaiters: number },
  ): Promise<ObservedLockDetail | null> {
    return readDetail(key, maxWaiters, {
      link: this.#master(key),
      book: this.#book,
      channels: this.#channels,
      nowMs: () => this.#runtime.wallMs(),
      learn: (uuids) => this.#identities.learn(uuids, learntAtOnce),
    });
  }

  attend(keys: readonly string[]): { update(keys: readonly string[]): void; end(): void } {
    let own: readonly string[] = [];
    const update = (next: readonly string[]): void => {
      for (const key of next) this.#attended.set(key, (this.#attended.get(key) ?? 0) + 1);
      for (const key of own) {
        const left = (this.#attended.get(key) ?? 1) - 1;
        if (left === 0) this.#attended.delete(key);
        else this.#attended.set(key, left);
      }
      own = [...next];
    };
    update(keys);
    return { update, end: () => update([]) };
  }

  onEvent(listener: (event: CollectorEvent) => void): () => void {
    const own = (event: CollectorEvent): void => listener(event);
    this.#listeners.add(own);
    return () => this.#listeners.delete(own);
  }

  async sessions(): Promise<readonly ObservedSession[]> {
    return sessionsOf(this.#book, this.#channels, this.#identities, async (keys) => {
      const details = await Promise.all(
        keys.map((key) => this.detail(key, { maxWaiters: 200 }).catch(() => null)),
      );
      return new Map(details.flatMap((each) => (each === null ? [] : [[each.key, each.waiters] as const])));
    });
  }

  servers(): Promise<readonly ObservedServer[]> {
    return this.#servers.read();
  }

  findings(): readonly Finding[] {
    return [...this.#servers.findings, ...[...this.#book.troubled].flatMap((record) => record.findings)];
  }

  discover(): Promise<readonly Discovery[]> {
    return discover(this.#places.masters(), this.#channels.locks);
  }

  act(request: ActionRequest): Promise<ActionResult> {
    return this.#actions.act(request);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#scan.close();
    for (const cancel of this.#cancels) cancel();
    this.#listeners.clear();
    await this.#places.close();
  }

  #took(reading: Reading): void {
    if (!this.#closed) this.#book.apply(reading);
  }

  #emit(event: CollectorEvent): void {
    for (const listener of this.#listeners) {
      try {
        listener(event);
      } catch (error) {
        process.emitWarning(`a listener of a collector threw: ${String(error)}`, { type: "HoldfastWarning" });
      }
    }
  }

  /** Now, and again that long after it is done. */
  #every(everyMs: Millis, round: () => Promise<void>): void {
    let cancel = (): void => {};
    const turn = async (): Promise<void> => {
      this.#cancels.delete(cancel);
      await round().catch((error: unknown) => {
        process.emitWarning(`a collector's round failed: ${String(error)}`, { type: "HoldfastWarning" });
      });
      if (this.#closed) return;
      cancel = this.#runtime.setTimer(everyMs, () => void turn());
      this.#cancels.add(cancel);
    };
    // The first connection takes a moment; a first round without it would be told as an outage.
    cancel = this.#runtime.setTimer(Math.min(everyMs, 100), () => void turn());
    this.#cancels.add(cancel);
  }

  async #look(): Promise<void> {
    const { channels } = this.#sources;
    this.#scan.settle();
    const nowMs = this.#runtime.wallMs();
    try {
      const links = this.#places.nodes().filter((link) => link.open || this.#places.clustered);
      if (links.length === 0) throw new Error(this.#places.nodes()[0]?.lastCause ?? "no server is reached");
      const changed = await this.#channels.look(links, nowMs, (lock) => this.#book.keyFor(lock));
      this.#note(channels.ok(this.#runtime.wallMs()));
      for (const key of changed) this.#book.recompose(key);
      await this.#readContended(changed);
    } catch (error) {
      this.#channels.forget();
      this.#note(channels.failed(error, nowMs + this.#options.channelsEveryMs));
    }
    this.#book.sweep(this.#runtime.wallMs(), emptyForMs);
  }

  /** Those that changed, and of all that are contended some at each turn. */
  async #readContended(changed: ReadonlySet<string>): Promise<void> {
    const keys = new Set(changed);
    const contended = [...this.#book.contended, ...this.#book.empty];
    for (let i = 0; i < Math.min(contendedAtOnce, contended.length); i++)
      keys.add(contended[(this.#turn + i) % contended.length] as string);
    this.#turn = contended.length === 0 ? 0 : (this.#turn + contendedAtOnce) % contended.length;
    await this.#reader.read(keys, "full");
  }

  async #readRows(): Promise<void> {
    const { rows } = this.#sources;
    const nowMs = this.#runtime.wallMs();
    try {
      const keys = [...this.#attended.keys()].slice(0, attendedAtMost);
      await this.#reader.read(keys, "full");
      if (keys.length > 0) await this.#learn(keys);
      if (this.#places.masters().some((link) => link.open)) this.#note(rows.ok(this.#runtime.wallMs()));
      else
        this.#note(
          rows.failed(
            this.#places.masters()[0]?.lastCause ?? "no master is reached",
            nowMs + this.#options.rowsEveryMs,
          ),
        );
    } catch (error) {
      this.#note(rows.failed(error, nowMs + this.#options.rowsEveryMs));
    }
  }

  async #learn(keys: readonly string[]): Promise<void> {
    const uuids = new Map<string, string[]>();
    for (const key of keys) {
      for (const { entry } of this.#book.records.get(key)?.followed ?? []) {
        const uuid = parseOwner(ownerIn(entry))?.uuid;
        if (uuid !== undefined) uuids.set(uuid, [...(uuids.get(uuid) ?? []), key]);
      }
    }
    const news = await this.#identities.learn(uuids.keys(), learntAtOnce);
    for (const uuid of news) for (const key of uuids.get(uuid) ?? []) this.#book.recompose(key);
  }

  async #readServers(): Promise<void> {
    const { servers } = this.#sources;
    const found = await this.#servers.read();
    const reached = found.filter((each) => each.reachable && each.role !== "sentinel");
    const nowMs = this.#runtime.wallMs();
    if (reached.length > 0) this.#note(servers.ok(nowMs));
    else this.#note(servers.failed("no server answers INFO", nowMs + serversEveryMs));
  }

  /** What one master serves and the pass has not met is read again: it is gone, or was missed. */
  async #passed(link: Link, fromMs: Millis): Promise<void> {
    const missed: string[] = [];
    for (const { key, reading } of this.#book.records.values())
      if (reading.atMs < fromMs && this.#places.masterOf(key) === link) missed.push(key);
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

  #note(news: boolean): void {
    if (news) this.#emit({ type: "status" });
  }
}
