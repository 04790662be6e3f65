import type { Millis, Runtime } from "@holdfast/core";
import { messageOf } from "@holdfast/core/internal";
import { parseOwner } from "@holdfast/redis-recipes/internal";
import type { Attention } from "../kit/attention.js";
import type { Book } from "./book.js";
import type { Channels } from "./channels.js";
import type { Identities } from "./identities.js";
import type { Link } from "./link.js";
import type { LockRecord } from "./lock-record.js";
import { NoConnectionError } from "./outage.js";
import { ownerIn } from "./owner-words.js";
import type { Places } from "./places.js";
import type { PolledSource } from "./polled-source.js";
import type { Reader } from "./reader.js";
import type { Scan } from "./scan.js";
import type { Servers } from "./servers.js";

/** A lock without holders and waiters leaves the list after this. */
const emptyForMs: Millis = 5_000;
/** The most contended locks that are read again between two looks at the channels. */
const contendedAtOnce = 2_000;
export const serversEveryMs: Millis = 10_000;
const attendedAtMost = 2_000;
/** When a client has held a contended lock for this time, its identity is read, before the hold counts as long. */
const namedAfterMs: Millis = 60_000;
const mostMet = 10_000;
export const learntAtOnce = 500;

export interface RoundParts {
  readonly runtime: Runtime;
  readonly places: Places;
  readonly book: Book;
  readonly reader: Reader;
  readonly channels: Channels;
  readonly identities: Identities;
  readonly scan: Scan;
  readonly servers: Servers;
  readonly attention: Attention;
  /** Whether the patterns include the lock of this key. */
  readonly isMeant: (key: string) => boolean;
  readonly channelsEveryMs: Millis;
  readonly rowsEveryMs: Millis;
  readonly sources: {
    readonly channels: PolledSource;
    readonly rows: PolledSource;
    readonly servers: PolledSource;
  };
  onStatus(): void;
}

/** Repeats what is read beside the scan: the listeners, the rows on screen, and the state of the servers. */
export class Rounds {
  readonly #parts: RoundParts;
  readonly #cancels = new Set<() => void>();
  /** The position that the round through the contended locks has reached. */
  #turn = 0;
  /** Locks with a holder whose identity is to be read in the next round. */
  #met = new Set<string>();
  #closed = false;

  constructor(parts: RoundParts) {
    this.#parts = parts;
  }

  begin(): void {
    this.#every(this.#parts.channelsEveryMs, () => this.#look());
    this.#every(this.#parts.rowsEveryMs, () => this.#readRows());
    this.#every(serversEveryMs, () => this.#readServers());
  }

  /** Has the identity of this lock's present holder read in the next round. */
  meet(key: string): void {
    if (this.#met.size < mostMet) this.#met.add(key);
  }

  close(): void {
    this.#closed = true;
    for (const cancel of this.#cancels) cancel();
  }

  /** Runs `round` soon, and again `everyMs` after each run has ended. */
  #every(everyMs: Millis, round: () => Promise<void>): void {
    const { runtime } = this.#parts;
    let cancel = (): void => {};
    const turn = async (): Promise<void> => {
      this.#cancels.delete(cancel);
      await round().catch((error: unknown) => {
        process.emitWarning(`a collector's round failed: ${messageOf(error)}`, { type: "HoldfastWarning" });
      });
      if (this.#closed) return;
      cancel = runtime.setTimer(everyMs, () => void turn());
      this.#cancels.add(cancel);
    };
    // The first connection takes a moment; a first round without it would be reported as an outage.
    cancel = runtime.setTimer(Math.min(everyMs, 100), () => void turn());
    this.#cancels.add(cancel);
  }

  async #look(): Promise<void> {
    const { runtime, places, book, channels, scan, sources, channelsEveryMs, isMeant } = this.#parts;
    scan.settle();
    const nowMs = runtime.wallMs();
    try {
      const links = places.nodes().filter((link) => link.open || places.clustered);
      if (links.length === 0) throw noConnectionOf(places.nodes());
      const changed = await channels.look(links, nowMs, (lock) => {
        const key = book.keyFor(lock);
        return isMeant(key) ? key : null;
      });
      this.#note(sources.channels.ok(runtime.wallMs()));
      for (const key of changed) book.heard(key);
      await this.#readContended(changed);
    } catch (error) {
      channels.forget();
      this.#note(sources.channels.failed(error, nowMs + channelsEveryMs));
    }
    book.sweep(runtime.wallMs(), emptyForMs);
  }

  /** Reads the locks that changed, and each time a part of all contended and empty locks. */
  async #readContended(changed: ReadonlySet<string>): Promise<void> {
    const { book, reader } = this.#parts;
    const keys = new Set(changed);
    const contended = [...book.contended, ...book.empty];
    for (let i = 0; i < Math.min(contendedAtOnce, contended.length); i++)
      keys.add(contended[(this.#turn + i) % contended.length] as string);
    this.#turn = contended.length === 0 ? 0 : (this.#turn + contendedAtOnce) % contended.length;
    await reader.read(keys, "full");
    const nowMs = this.#parts.runtime.wallMs();
    // A finding about a long hold names the holder, and long holds with waiters are few.
    await this.#learn([...keys].filter((key) => isOld(book.records.get(key), nowMs)));
  }

  async #readRows(): Promise<void> {
    const { runtime, places, reader, attention, sources, rowsEveryMs } = this.#parts;
    const { rows } = sources;
    const nowMs = runtime.wallMs();
    try {
      const keys = attention.keys(attendedAtMost);
      await reader.read(keys, "full");
      const met = this.#met;
      this.#met = new Set();
      if (keys.length + met.size > 0) await this.#learn(new Set([...keys, ...met]), met);
      if (places.masters().some((link) => link.open)) this.#note(rows.ok(runtime.wallMs()));
      else this.#note(rows.failed(noConnectionOf(places.masters()), nowMs + rowsEveryMs));
    } catch (error) {
      this.#note(rows.failed(error, nowMs + rowsEveryMs));
    }
  }

  /** `met`: the locks whose holders are reported even if their identities were already read for a page or another lock. */
  async #learn(keys: Iterable<string>, met: ReadonlySet<string> = new Set()): Promise<void> {
    const { book, identities } = this.#parts;
    const uuids = new Map<string, string[]>();
    for (const key of keys) {
      for (const { field } of book.records.get(key)?.followed ?? []) {
        const uuid = parseOwner(ownerIn(field))?.uuid;
        if (uuid === undefined) continue;
        const own = uuids.get(uuid);
        if (own === undefined) uuids.set(uuid, [key]);
        else own.push(key);
      }
    }
    const news = await identities.learn(uuids.keys(), learntAtOnce);
    for (const [uuid, own] of uuids) {
      if (identities.of(uuid).identity === null) continue;
      for (const key of own) if (news.has(uuid) || met.has(key)) book.introduced(key);
    }
  }

  async #readServers(): Promise<void> {
    const { runtime, servers, sources, places } = this.#parts;
    const found = await servers.read();
    const reached = found.filter((each) => each.reachable && each.role !== "sentinel");
    const nowMs = runtime.wallMs();
    if (reached.length > 0) this.#note(sources.servers.ok(nowMs));
    else this.#note(sources.servers.failed(noConnectionOf(places.nodes()), nowMs + serversEveryMs));
  }

  #note(news: boolean): void {
    if (news) this.#parts.onStatus();
  }
}

function isOld(record: LockRecord | undefined, nowMs: Millis): boolean {
  const sinceMs = record?.oldestHold.atMs ?? null;
  return sinceMs !== null && nowMs - sinceMs >= namedAfterMs;
}

/** The error of the first of the links that would have been asked. */
function noConnectionOf([link]: readonly Link[]): NoConnectionError {
  return link?.noConnection ?? new NoConnectionError(null, []);
}
