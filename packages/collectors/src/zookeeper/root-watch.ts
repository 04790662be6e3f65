import type { Millis } from "@holdfast/core";
import { AddWatchMode, errorCodes, ZooKeeperError } from "@holdfast/zk-protocol";
import { OutcomeUnknownError, saysNoNode, type ZooKeeperSession } from "@holdfast/zk-recipes/internal";
import { SourceState } from "../kit/source-state.js";
import type { CollectorEvent, ResyncReason, SourceStatus } from "../observe/collector.js";
import { BulkReads, isLossOfContact } from "./bulk-reads.js";
import type { LockBook } from "./lock-book.js";
import type { Settings } from "./options.js";
import { expandRoot, isNoAuth } from "./root-expansion.js";
import { isBelow, type RootPattern, withoutCovered } from "./roots.js";
import { compare, TooManyNodesError, walk } from "./walk.js";

export interface RootWatchContext {
  readonly settings: Settings;
  readonly book: LockBook;
  readonly session: ZooKeeperSession;
  statusChanged(): void;
  emit(event: Extract<CollectorEvent, { readonly type: "pass" | "resync" | "drift" }>): void;
  /** The paths of attended locks: they are polled twice a second where no watch reports changes. */
  attended(): readonly string[];
}

const retryMs: Millis = 5_000;
const pollAttendedMs: Millis = 500;
const reexpandMs: Millis = 1_000;
/**
 * After this many connections that ended on the request for the number of nodes, the server counts as one that does not know
 * this request.
 */
const cutsBeforeOld = 2;

/**
 * Keeps the names below the roots in memory. It first sets a persistent recursive watch and then walks once; events that
 * arrive meanwhile count more than the walk. On servers before 3.6 it walks again and again instead.
 */
export class RootWatch {
  readonly #context: RootWatchContext;
  readonly #statuses = new Map<RootPattern, SourceState>();
  readonly compared: SourceState;
  /** The number of names that the comparing passes found different; stays 0. */
  drift = 0;
  passes = 0;
  #pass = 0;
  #old = false;
  #cuts = 0;
  /**
   * Whether the server answered a request on this connection that servers before 3.6 do not know. If so, the end of the
   * connection does not show that the server is an old one.
   */
  #knowsNew = false;
  /** Whether all roots were walked on this connection, so that events alone report what changes. */
  #synced = false;
  #roots: string[] = [];
  /** The paths that each pattern stands for. */
  #expanded: ReadonlyMap<RootPattern, readonly string[]> = new Map();
  /** Roots over `maxNodes`: nothing below them is kept, and events from there are ignored. */
  readonly #unread = new Set<string>();
  /** The status of each root before contact became doubtful. */
  readonly #before = new Map<SourceState, SourceStatus>();
  /** The levels directly above a `*`. */
  #branchings: ReadonlySet<string> = new Set();
  /** Rises with each restart, so that the work of an earlier one stops. */
  #generation = 0;
  #timers = new Set<() => void>();
  #reexpand: (() => void) | null = null;
  #stopped = false;

  constructor(context: RootWatchContext) {
    this.#context = context;
    const { roots, compareEveryMs } = context.settings;
    for (const root of roots) {
      const cost = "one watch; one walk per connection";
      this.#statuses.set(root, new SourceState(`watch ${root.text}`, cost, () => context.statusChanged()));
    }
    this.compared = new SourceState("compare", `one walk every ${compareEveryMs / 1_000} s`, () =>
      context.statusChanged(),
    );
    if (compareEveryMs === 0 || roots.length === 0) this.compared.set({ state: "off" });
  }

  /** While a watch stands, memory is valid as of the last contact, however long ago the walk was. */
  sources(): SourceStatus[] {
    const roots = [...this.#statuses.values()].map(({ now }) => ({ ...now, lastSuccessMs: this.#asOf(now) }));
    return [...roots, this.compared.now];
  }

  /** Whether the servers have no recursive watches: they send no events, so everything is polled. */
  get polling(): boolean {
    return this.#old;
  }

  get roots(): readonly string[] {
    return this.#roots;
  }

  reads(): BulkReads {
    return new BulkReads(this.#context.session, !this.#old);
  }

  /**
   * Begins anew, as on a new connection: all watches are gone and everything may have changed. `why`: `null` where nothing
   * was read before, or everything is polled.
   */
  restart(why: ResyncReason | null): void {
    if (why !== null) this.#context.emit({ type: "resync", reason: why });
    this.stopTimers();
    if (why === "new-session") {
      // The servers may have been upgraded, and what looked like an old server may have been a bad line.
      this.#old = false;
      this.#cuts = 0;
    }
    const generation = ++this.#generation;
    this.#knowsNew = false;
    this.#synced = false;
    this.#before.clear();
    this.#pauseBook();
    void this.#run(generation);
  }

  away(message: string): void {
    this.#pauseBook();
    for (const status of this.#statuses.values()) {
      if (status.now.state === "ok") status.set({ lastSuccessMs: this.#asOf(status.now) });
      if (!this.#before.has(status)) this.#before.set(status, status.now);
      status.lost(message);
    }
  }

  /** Contact was only in doubt: the connection is the same as before. */
  back(): void {
    for (const [status, { state, message, coverage }] of this.#before) {
      // A status that a walk has set since then stays.
      if (status.now.state !== "stale" && status.now.state !== "down") continue;
      if (state === "ok") this.#ok(status);
      else status.set({ state, message, coverage });
    }
    this.#before.clear();
    if (this.#synced && !this.#old) this.#context.book.resume();
  }

  /** A child of a level directly above a `*` has come or gone. */
  branched(path: string): boolean {
    if (!this.#branchings.has(path)) return false;
    this.#reexpand ??= this.#timer(reexpandMs, () => {
      this.#reexpand = null;
      this.restart("roots-changed");
    });
    return !this.#roots.some((root) => root === path || isBelow(path, root));
  }

  isWatched(path: string): boolean {
    return this.#roots.some((root) => !this.#unread.has(root) && (root === path || isBelow(path, root)));
  }

  stop(): void {
    this.#stopped = true;
    this.#generation += 1;
    this.stopTimers();
  }

  stopTimers(): void {
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
    this.#reexpand = null;
  }

  /**
   * Runs one pass that compares memory with the server. A root that has grown over `maxNodes` by events is dropped, as by a
   * walk.
   */
  async compareNow(): Promise<number> {
    const { runtime, maxNodes } = this.#context.settings;
    const begunMs = runtime.nowMs();
    let found = 0;
    for (const root of this.#roots) {
      if (this.#unread.has(root)) continue;
      const count = this.#old ? 0 : await this.#count(root);
      if (count > maxNodes) {
        for (const [pattern, paths] of this.#expanded)
          if (paths.includes(root)) this.#tooBig(root, count, this.#statuses.get(pattern) as SourceState);
        continue;
      }
      const pause = (): Promise<void> => new Promise((resolve) => runtime.setTimer(50, resolve));
      found += (await compare(this.#context.book, this.reads(), root, this.#pass, pause)).names;
    }
    this.drift += found;
    this.passes += 1;
    const message =
      this.drift === 0
        ? null
        : `${this.drift} differences in ${this.passes} checks that no event had reported: they are corrected; nodes that the collector may not read cause such`;
    this.compared.set({ state: "ok", coverage: 1, lastSuccessMs: runtime.wallMs(), message });
    this.#passed("compare", begunMs);
    if (found > 0) this.#context.emit({ type: "drift", count: found });
    return found;
  }

  // ---- one connection

  async #run(generation: number): Promise<void> {
    try {
      const { all, denied } = await this.#expandAll();
      if (this.#over(generation)) return;
      if (!this.#old && this.#branchings.size > 0) this.#knowsNew = true;
      this.#expanded = all;
      this.#roots = withoutCovered([...all.values()].flat());
      this.#unread.clear();
      this.#dropOutside(denied);
      await this.#syncAll(generation, all);
      this.#cuts = 0;
    } catch (error) {
      if (this.#over(generation)) return;
      if (error instanceof OutcomeUnknownError) this.#cuts = this.#knowsNew ? 0 : this.#cuts + 1;
      if (isUnimplemented(error) || this.#cuts >= cutsBeforeOld) this.#old = true;
      if (isLossOfContact(error)) return; // the next connection begins anew
      const message = isUnimplemented(error) ? "the server is older than 3.6" : (error as Error).message;
      for (const status of this.#statuses.values()) status.lost(message);
      this.#timer(retryMs, () => this.restart("failed"));
      return;
    }
    if (!this.#over(generation)) this.#afterSync();
  }

  #asOf({ state, lastSuccessMs }: SourceStatus): number | null {
    const contactMs = state === "ok" && !this.#old ? this.#contactMs() : null;
    return contactMs === null ? lastSuccessMs : Math.max(contactMs, lastSuccessMs ?? contactMs);
  }

  /** Wall time of the last bytes from a server; `null` before the first ones of this session. */
  #contactMs(): number | null {
    const { session, settings } = this.#context;
    const agoMs = settings.runtime.nowMs() - session.heardAtMs;
    return Number.isFinite(agoMs) ? Math.round(settings.runtime.wallMs() - agoMs) : null;
  }

  #pauseBook(): void {
    const { book, settings } = this.#context;
    book.pause(this.#contactMs() ?? settings.runtime.wallMs());
  }

  #over(generation: number): boolean {
    return this.#stopped || generation !== this.#generation;
  }

  async #syncAll(generation: number, all: ReadonlyMap<RootPattern, readonly string[]>): Promise<void> {
    const { book } = this.#context;
    this.#pass += 1;
    for (const [pattern, paths] of all) {
      const status = this.#statuses.get(pattern) as SourceState;
      const begunMs = this.#context.settings.runtime.nowMs();
      status.set({ state: "syncing", message: null, nextTryMs: null });
      let state: "ok" | "denied" | "too-big" = "ok";
      for (const path of paths) {
        if (!this.#roots.includes(path)) continue; // a root above it covers it
        const result = await this.#syncRoot(path, status);
        if (this.#over(generation)) return;
        if (result !== "ok") state = result;
      }
      if (state === "ok") {
        this.#ok(status);
        this.#passed(status.now.source, begunMs);
      }
      if (state === "denied") {
        const message = `the right to read (READ) ${pattern.text} is missing for the credentials of option auth`;
        status.set({ state, message });
      }
    }
    this.#synced = true;
    if (!this.#old) book.resume();
  }

  async #syncRoot(path: string, status: SourceState): Promise<"ok" | "denied" | "too-big"> {
    const { session, settings, book } = this.#context;
    const { maxNodes } = settings;
    if (!this.#old) {
      const count = await this.#count(path);
      if (count > maxNodes) return this.#tooBig(path, count, status);
      await session.request("addWatch", { path, mode: AddWatchMode.persistentRecursive });
    }
    try {
      const readable = await walk(book, this.reads(), path, this.#pass, maxNodes, (listed, known) =>
        status.set({ coverage: Math.floor((listed / known) * 100) / 100 }),
      );
      return readable ? "ok" : "denied";
    } catch (error) {
      if (error instanceof TooManyNodesError) return this.#tooBig(path, error.count + 1, status);
      throw error;
    }
  }

  async #count(path: string): Promise<number> {
    try {
      const { totalNumber } = await this.#context.session.request("getAllChildrenNumber", { path });
      this.#knowsNew = true;
      return totalNumber;
    } catch (error) {
      if (!saysNoNode(error) && !isNoAuth(error)) throw error;
      this.#knowsNew = true;
      return 0;
    }
  }

  /** Drops what was read below the root before the limit was passed, because it would look like the present state. */
  #tooBig(path: string, count: number, status: SourceState): "too-big" {
    const { book } = this.#context;
    this.#unread.add(path);
    book.unwatched(() => book.mirror.deleted(path));
    const message = `${path} has ${count} nodes or more, over the limit of ${this.#context.settings.maxNodes} (maxNodes): give roots below it, or raise the limit`;
    status.set({ state: "too-big", coverage: 0, message });
    return "too-big";
  }

  #passed(source: string, begunMs: Millis): void {
    const tookMs = this.#context.settings.runtime.nowMs() - begunMs;
    this.#context.emit({ type: "pass", source, tookMs });
  }

  #ok(status: SourceState): void {
    const lastSuccessMs = this.#context.settings.runtime.wallMs();
    const message = this.#old ? "the server is older than 3.6, so it is polled instead of watched" : null;
    status.set({ state: "ok", coverage: 1, lastSuccessMs, nextTryMs: null, message });
  }

  /**
   * Drops places that are no longer below a root, because the root is gone or lies below a level that may not be listed. A
   * level above a root stays, because its root would be dropped with it.
   */
  #dropOutside(denied: ReadonlySet<string>): void {
    const { book } = this.#context;
    for (const { path } of [...book.mirror.places()]) {
      if (this.isWatched(path) || this.#roots.some((root) => isBelow(root, path))) continue;
      const drop = (): void => book.mirror.deleted(path);
      if ([...denied].some((level) => isBelow(path, level))) book.unwatched(drop);
      else book.listed(drop);
    }
  }

  async #expandAll(): Promise<{
    readonly all: Map<RootPattern, readonly string[]>;
    readonly denied: ReadonlySet<string>;
  }> {
    const { session } = this.#context;
    const branchings = new Set<string>();
    const denied = new Set<string>();
    const all = new Map<RootPattern, readonly string[]>();
    for (const pattern of this.#statuses.keys()) {
      all.set(pattern, await expandRoot(session, pattern, !this.#old, branchings, denied));
    }
    this.#branchings = branchings;
    return { all, denied };
  }

  // ---- later

  #afterSync(): void {
    const { settings } = this.#context;
    if (settings.roots.length === 0) return;
    if (this.#old) {
      const nextTryMs = settings.runtime.wallMs() + settings.pollEveryMs;
      for (const status of this.#statuses.values()) status.set({ nextTryMs });
      this.#timer(settings.pollEveryMs, () => this.restart(null));
      this.#pollAttended();
    } else if (settings.compareEveryMs > 0) this.#compareLater();
  }

  #compareLater(): void {
    const generation = this.#generation;
    this.#timer(this.#context.settings.compareEveryMs, () => {
      this.compareNow()
        .catch((error: Error) => {
          // After a loss of contact, the next connection begins anew. Until then the status of this source stays as it was,
          // as it does when contact is lost between two passes.
          if (!isLossOfContact(error)) this.compared.lost(error.message);
        })
        .then(() => this.#over(generation) || this.#compareLater());
    });
  }

  #pollAttended(): void {
    const generation = this.#generation;
    this.#timer(pollAttendedMs, () => {
      const paths = this.#context.attended().filter((path) => this.isWatched(path));
      this.reads()
        .list(paths, (path, result) => {
          if (this.#over(generation) || !("children" in result)) return;
          const { book } = this.#context;
          book.listed(() => book.mirror.merge(path, result.children, this.#pass));
        })
        .then(
          () => this.#over(generation) || this.#pollAttended(),
          () => {}, // the end of the connection is reported elsewhere
        );
    });
  }

  #timer(delayMs: Millis, fn: () => void): () => void {
    const cancel = this.#context.settings.runtime.setTimer(delayMs, () => {
      this.#timers.delete(cancel);
      if (!this.#stopped) fn();
    });
    this.#timers.add(cancel);
    return cancel;
  }
}

function isUnimplemented(error: unknown): boolean {
  return error instanceof ZooKeeperError && error.code === errorCodes.Unimplemented;
}
