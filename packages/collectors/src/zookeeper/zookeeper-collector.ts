import type { Millis, RecordReader } from "@holdfast/core";
import { messageOf, RecentMap } from "@holdfast/core/internal";
import type { WatcherEvent } from "@holdfast/zk-protocol";
import { LockPaths } from "@holdfast/zk-recipes/internal";
import { type Act, actUpon, denied, tryOutUpon } from "../kit/action.js";
import { Attention } from "../kit/attention.js";
import { Listeners } from "../kit/listeners.js";
import { SourceState } from "../kit/source-state.js";
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
import { actOn } from "./actions.js";
import { detailOf, type FreshLock, type MostRead, readLock } from "./detail.js";
import { discoverRoots } from "./discover.js";
import { Findings } from "./findings.js";
import { LockBook } from "./lock-book.js";
import { NodeReads } from "./node-reads.js";
import { resolveSettings, type Settings, type ZooKeeperCollectorOptions } from "./options.js";
import { readText } from "./read-text.js";
import { RootWatch } from "./root-watch.js";
import { covers } from "./roots.js";
import { emptyRow } from "./rows.js";
import { readServers } from "./servers.js";
import { SessionContacts } from "./session-contacts.js";
import { readSessions } from "./sessions.js";
import { WatchingSession } from "./watching-session.js";

const sweepMs: Millis = 10_000;
/** The most places that one sweep reads: those with long holds and empty parents together. */
const perSweep = 1_000;
const mostArrivals = 256;
/** The difference between the servers' clock and ours is taken from this many of the latest new nodes. */
const comparedNodes = 16;
/** A timer of this length that is late shows that this process stood still. */
const beatMs: Millis = 500;
/** How long one reading of the connections serves all callers. */
const contactsKeptMs: Millis = 2_000;
const outside = "It is below no root of this collector.";

/** A collector of ZooKeeper, with what it can report beyond other collectors. */
export interface ZooKeeperCollector extends LockCollector {
  /** The kind of backend. */
  readonly backend: "zookeeper";
  /** The number of names that comparing passes found different and that no event had named; must stay 0. */
  readonly drift: number;
  /** The number of passes that have compared memory with the server. */
  readonly comparisons: number;
  /** Compares everything in memory with the server now. Resolves with the number of differences that it found. */
  compareNow(): Promise<number>;
  /** The number of nodes whose data was asked for: nodes of participants, and leaves. */
  readonly nodesRead: number;
  /**
   * The records of the providers with this `root` (default `/holdfast`) and `namespace` (default none), read over the session of this
   * collector. Throws `InvalidArgumentError` where they do not make a valid path.
   */
  records(place?: { readonly root?: string; readonly namespace?: string }): RecordReader;
}

/**
 * Watches the locks below `roots`, whichever library made them: Curator, kazoo, or this library. It connects in the background and goes on
 * by itself; `sources` reports its status. Its session owns no nodes.
 *
 * Keys are the server's own paths, the chroot included. Throws `InvalidArgumentError` for options that cannot work.
 */
export function zookeeperCollector(options: ZooKeeperCollectorOptions): ZooKeeperCollector {
  return new Collector(resolveSettings(options));
}

class Collector implements ZooKeeperCollector {
  readonly backend = "zookeeper";
  readonly #settings: Settings;
  readonly #book: LockBook;
  readonly #reads: NodeReads;
  readonly #line: WatchingSession;
  readonly #roots: RootWatch;
  readonly #findings: Findings;
  readonly #sessions: SourceState;
  readonly #listeners = new Listeners();
  readonly #attention: Attention;
  readonly #contacts = new SessionContacts();
  #contactsAskedMs: Millis = Number.NEGATIVE_INFINITY;
  #contactsAsked: Promise<void> = Promise.resolve();
  /** When events reported a new node, for the latest few new nodes. */
  readonly #arrivals = new RecentMap<string, number>(mostArrivals);
  /** How far the servers' clock was ahead of ours, at the last nodes that were compared. */
  readonly #aheadMs: number[] = [];
  #stopSweep: (() => void) | null = null;
  #stopBeat: (() => void) | null = null;
  /** When the next beat is due, by wall time, which goes on while the machine sleeps. */
  #beatDueMs: Millis = Number.POSITIVE_INFINITY;
  /** Whether the last beat was late. Until the next one, events may arrive that have waited in the socket. */
  #stoodStill = false;
  #statusTold = false;

  constructor(settings: Settings) {
    const { runtime } = settings;
    this.#settings = settings;
    const naive = settings.roots.filter((root) => root.naive);
    this.#book = new LockBook({
      runtime,
      emit: (event) => this.#emit(event),
      isNaive: (path) => naive.some((root) => covers(root, path)),
      want: (place) => this.#reads.want(place),
      wantSelf: (place) => this.#reads.wantSelf(place),
      forget: (place) => this.#reads.forget(place),
      identifyHolders: settings.identifyHolders,
      earlierSight: settings.earlierSight,
    });
    this.#attention = new Attention({
      looked: (key) => this.#readAllOf(key),
      left: (key) => {
        const place = this.#book.mirror.get(key);
        if (place !== undefined) place.attended = false;
      },
    });
    this.#findings = new Findings(settings, this.#book);
    this.#sessions = new SourceState("sessions", "asked when the page is open", () => this.#statusChanged());
    this.#sessions.set({ state: "off" });
    this.#line = this.#makeLine();
    this.#roots = new RootWatch(this.#rootContext());
    this.#reads = new NodeReads({
      read: (paths, each) => this.#roots.reads().nodes(paths, each),
      nodesToRead: (place) => this.#book.nodesToRead(place),
      got: (asked, node) => {
        this.#book.got(asked, node);
        if (node?.stat != null) this.#compareClocks(asked.path, node.stat.ctime);
      },
      setTimer: (delayMs, fn) => runtime.setTimer(delayMs, fn),
    });
    this.#sweepLater();
    this.#beat();
  }

  get size(): number {
    return this.#book.size;
  }

  get drift(): number {
    return this.#roots.drift;
  }

  get comparisons(): number {
    return this.#roots.passes;
  }

  get nodesRead(): number {
    return this.#reads.asked;
  }

  compareNow(): Promise<number> {
    return this.#roots.compareNow();
  }

  records({ root = "/holdfast", namespace = "" } = {}): RecordReader {
    const paths = new LockPaths({ chroot: this.#settings.connect.chroot, namespace, root });
    return { record: (name) => ({ name, read: () => readText(this.#line.session, paths.pathOf(name)) }) };
  }

  sources(): readonly SourceStatus[] {
    return [...this.#roots.sources(), this.#sessions.now];
  }

  *locks(): Generator<ObservedLock> {
    this.#book.settleAll();
    for (const place of this.#book.locks()) yield this.#book.row(place);
  }

  figures(which: "all" | "contended" = "all"): Iterable<LockFigures> {
    this.#book.settleAll();
    return which === "all" ? this.#book.locks() : this.#book.contended;
  }

  get(key: string): ObservedLock | undefined {
    const place = this.#book.mirror.get(key);
    if (place === undefined) return undefined;
    if (place.dirty) this.#book.settle(place);
    return place.isLock ? this.#book.row(place) : undefined;
  }

  isHeldBy(key: string, text: string): boolean {
    const place = this.#book.mirror.get(key);
    return place !== undefined && this.#book.isHeldBy(place, text);
  }

  async detail(
    key: string,
    { maxWaiters }: { readonly maxWaiters: number },
  ): Promise<ObservedLockDetail | null> {
    if (!this.#isInside(key)) return null;
    const place = this.#book.mirror.get(key);
    const nowMs = this.#settings.runtime.wallMs();
    if (place?.denied === true) {
      return { ...emptyRow(place, null, nowMs), waiters: [], raw: [], explain: [] };
    }
    const fresh = await readLock(this.#line.session, this.#book, key, { maxWaiters });
    return fresh && detailOf(fresh, this.#book, maxWaiters, this.#settings.runtime.wallMs());
  }

  attend(keys: readonly string[]): { update(keys: readonly string[]): void; end(): void } {
    return this.#attention.attend(keys);
  }

  onEvent(listener: (event: CollectorEvent) => void): () => void {
    return this.#listeners.add(listener);
  }

  async sessions(): Promise<readonly ObservedSession[]> {
    const read = await readSessions(
      this.#settings,
      this.#line.session,
      this.#book,
      this.#roots.reads(),
      this.#contacts,
    ).catch((error: unknown) => {
      // The source is off until it is first asked. It must leave that state first, because `lost` does nothing to a source
      // that is off.
      if (this.#sessions.now.state === "off") this.#sessions.set({ state: "starting" });
      this.#sessions.lost(messageOf(error));
      throw error;
    });
    for (const server of read.openAdmins) this.#findings.openAdmins.add(server);
    const named = this.#settings.connect.servers.length;
    const unnamed = read.unnamed ?? 0;
    this.#sessions.set({
      state: "ok",
      coverage: (named - read.silent.length) / (named + unnamed),
      lastSuccessMs: this.#settings.runtime.wallMs(),
      message: silenceOf(read.silent, unnamed),
    });
    return read.sessions;
  }

  async contacts(ids: readonly string[]): Promise<readonly SessionContact[]> {
    if (ids.length === 0) return [];
    const { runtime } = this.#settings;
    if (runtime.nowMs() - this.#contactsAskedMs >= contactsKeptMs) {
      this.#contactsAskedMs = runtime.nowMs();
      this.#contactsAsked = this.#contacts.read(this.#settings, this.#line.session).then(() => {});
    }
    await this.#contactsAsked;
    return ids.map((id) => this.#contacts.of(id, runtime.wallMs()));
  }

  async servers(): Promise<readonly ObservedServer[]> {
    const { servers, openAdmins } = await readServers(this.#settings);
    for (const { name } of servers) this.#findings.openAdmins.delete(name);
    for (const server of openAdmins) this.#findings.openAdmins.add(server);
    return servers;
  }

  findings(): readonly Finding[] {
    this.#book.settleAll();
    return this.#findings.look();
  }

  discover(): Promise<readonly Discovery[]> {
    return discoverRoots(this.#settings, this.#roots.reads());
  }

  async tryOut(
    seen: ObservedLockDetail,
    acts: readonly ActionOffer[],
    signal?: AbortSignal,
  ): Promise<readonly ActionTrial[]> {
    if (!this.#isInside(seen.key)) return acts.map(() => denied(outside));
    const lastNamed = seen.waiters.findLastIndex((waiter) =>
      acts.some(({ entry }) => entry === waiter.entry),
    );
    // At least one: an effect names the waiter that is granted next.
    const most = { maxWaiters: Math.max(1, lastNamed + 1), signal };
    return tryOutUpon(this.#actOn(seen.key, most), seen, acts, signal);
  }

  async act(request: ActionRequest): Promise<ActionResult> {
    return this.#isInside(request.key) ? actUpon(this.#actOn(request.key), request) : denied(outside);
  }

  #actOn(key: string, most?: MostRead): Act<FreshLock> {
    return actOn(this.#line.session, this.#book, () => this.#settings.runtime.wallMs(), key, most);
  }

  async close(): Promise<void> {
    this.#stopSweep?.();
    this.#stopBeat?.();
    this.#roots.stop();
    this.#reads.stop();
    this.#listeners.clear();
    await this.#line.close();
  }

  /** Whether a configured root covers the path. No other path is shown or acted upon, even if a request names it. */
  #isInside(path: string): boolean {
    return this.#settings.roots.some((root) => covers(root, path));
  }

  // ---- the server

  /**
   * Contact is back. Sessions are read only when a user asks, perhaps hours later, so their last failure no longer means
   * anything.
   */
  #reached(): void {
    if (this.#sessions.now.state !== "ok") this.#sessions.set({ state: "off", message: null });
  }

  #makeLine(): WatchingSession {
    return new WatchingSession(this.#settings, {
      fresh: (_session, why) => {
        this.#roots.restart(why);
        this.#reached();
      },
      away: () => this.#roots.away("no contact with ZooKeeper: connecting again"),
      back: () => {
        this.#roots.back();
        this.#reached();
      },
      unreached: (why) => this.#roots.away(`${why}; it is tried again and again`),
      event: (event) => this.#onWatchEvent(event),
      refused: () => this.#roots.away("the server refused the credentials of option auth"),
    });
  }

  #rootContext(): ConstructorParameters<typeof RootWatch>[0] {
    const collector = this;
    return {
      settings: this.#settings,
      book: this.#book,
      get session() {
        return collector.#line.session;
      },
      statusChanged: () => this.#statusChanged(),
      emit: (event) => this.#emit(event),
      attended: () => this.#attention.keys(),
    };
  }

  #onWatchEvent({ type, path }: WatcherEvent): void {
    const { mirror } = this.#book;
    if (type === "children-changed") {
      this.#roots.branched(path);
      return;
    }
    if (!this.#roots.isWatched(path)) return;
    if (type === "created") {
      // An event that has waited because this process stood still shows nothing about the clocks.
      if (this.#stoodStill || this.#isBeatLate()) this.#arrivals.delete(path);
      else this.#arrivals.set(path, this.#settings.runtime.wallMs());
      mirror.created(path);
    }
    if (type === "deleted") mirror.deleted(path);
    if (type === "data-changed") this.#book.dataChanged(path);
  }

  // ---- what listeners hear

  #emit(event: CollectorEvent): void {
    // A lock may be made after a viewer began to look at its place.
    if (event.type === "changed" && this.#attention.has(event.key)) this.#readAllOf(event.key);
    this.#listeners.emit(event);
  }

  /** Has the nodes of a lock that is on screen read as soon as they are there. */
  #readAllOf(key: string): void {
    const place = this.#book.mirror.get(key);
    if (place === undefined || place.attended) return;
    place.attended = true;
    this.#reads.want(place);
  }

  /** Emits `status` at most once in a turn of the event loop. */
  #statusChanged(): void {
    if (this.#statusTold) return;
    this.#statusTold = true;
    queueMicrotask(() => {
      this.#statusTold = false;
      this.#emit({ type: "status" });
    });
  }

  /**
   * The ctime of a node whose event has just arrived is the servers' clock a moment ago. Of several nodes, the one with the
   * least delay gives the best estimate. Only the latest nodes count, because clocks are corrected.
   */
  #compareClocks(path: string, ctime: bigint): void {
    const arrivedMs = this.#arrivals.get(path);
    if (arrivedMs === undefined) return;
    this.#arrivals.delete(path);
    this.#aheadMs.push(Number(ctime) - arrivedMs);
    if (this.#aheadMs.length > comparedNodes) this.#aheadMs.shift();
    this.#findings.skewMs = Math.max(...this.#aheadMs);
  }

  #beat(): void {
    const { runtime } = this.#settings;
    this.#stoodStill = this.#isBeatLate();
    this.#beatDueMs = runtime.wallMs() + beatMs;
    this.#stopBeat = runtime.setTimer(beatMs, () => this.#beat());
  }

  #isBeatLate(): boolean {
    return this.#settings.runtime.wallMs() - this.#beatDueMs > beatMs;
  }

  /** Reads the nodes of holds that have grown long, and of parents that have been empty for long, a share at a time. */
  #sweepLater(): void {
    this.#stopSweep = this.#settings.runtime.setTimer(sweepMs, () => {
      const nowMs = this.#settings.runtime.wallMs();
      const { longHoldMs, orphanAfterMs } = this.#settings;
      let left = perSweep;
      for (const place of this.#book.locks()) {
        if (left === 0) break;
        const heldMs = nowMs - (place.held[0]?.since.atMs ?? nowMs);
        const emptyMs = nowMs - (place.emptySinceMs ?? nowMs);
        const long = heldMs >= longHoldMs && place.known?.has(place.held[0]?.name ?? "") !== true;
        const old = emptyMs >= orphanAfterMs && place.self === null;
        if (!long && !old) continue;
        left -= 1;
        if (long) this.#reads.want(place);
        else this.#reads.wantSelf(place);
      }
      this.#sweepLater();
    });
  }
}

function silenceOf(
  silent: readonly { readonly server: string; readonly why: string }[],
  unnamed: number,
): string | null {
  const sentences = silent.map(
    ({ server, why }) => `${server} does not tell who is connected to it: ${why}.`,
  );
  if (silent.length > 0) {
    sentences.push(
      "Addresses, time-outs and last signs of life of those sessions are not known: start the AdminServer, or put cons and dump on 4lw.commands.whitelist.",
    );
  }
  if (unnamed > 0) {
    sentences.push(
      `The ensemble has ${unnamed} ${unnamed === 1 ? "server" : "servers"} more than option connect names: who is connected to them is not known. Name each server in connect.`,
    );
  }
  return sentences.length === 0 ? null : sentences.join(" ");
}
