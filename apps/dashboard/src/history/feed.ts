import type { CollectorEvent, HoldOwner, ObservedLock, SessionContact } from "@holdfast/collectors";
import { Warnings } from "@holdfast/collectors/internal";
import { clusterRowOf, coverageOf, type NamedCollector } from "../core/cluster-row.js";
import { Turns } from "../core/turns.js";
import type { LastingHistory } from "./lasting-history.js";
import type { EndReason, HoldAddress, KnownOwner } from "./messages.js";

/** How often waiters are counted and the sessions of holders are looked at. */
const lookEveryMs = 5_000;
/** How many contended locks one look takes at most. */
const mostContended = 5_000;
/**
 * The most sessions of holds that are watched so that an end can be explained, and the most ends that wait for an
 * explanation.
 */
const mostSessions = 20_000;
const mostUnexplained = 5_000;
/** A collector may answer with what it read up to 2 s ago. So an end is explained only by what was read after it. */
const explainAfterMs = 2_500;
const explainWithinMs = 30_000;
/** The event of an end may come this much later than the end. */
const eventDelayMs = 2_000;
const forgetSuspendedMs = 600_000;
/** A forced release and the event of its effect may come in either order, within this time. */
const forcedWithinMs = 30_000;

interface Unexplained {
  readonly address: HoldAddress;
  readonly session: string;
  readonly atMs: number;
}

/** Turns the events of one collector into changes for the history. */
export class HistoryFeed {
  readonly #history: LastingHistory;
  readonly #cluster: NamedCollector;
  readonly #off: () => void;
  readonly #timer: NodeJS.Timeout;
  readonly #warnings = new Warnings();
  /** By session: the time at which a look first found it without a connection; `null` while it has one. */
  readonly #sessions = new Map<string, number | null>();
  #unexplained: Unexplained[] = [];
  /** The holds that this dashboard has ended by force, and when. */
  readonly #forced = new Map<string, number>();
  #surveyed = false;
  /** Locks with more holders than their rows show, which still have to be read. */
  readonly #crowded = new Set<string>();
  #complete = false;
  #looking = false;
  #closed = false;
  #lookedMs: number = Date.now();

  constructor(history: LastingHistory, cluster: NamedCollector) {
    this.#history = history;
    this.#cluster = cluster;
    this.#off = cluster.collector.onEvent((event) => this.#heard(event));
    // A collector may be the host's own, and throw where ours do not.
    const failed = `${cluster.name}: the history misses something`;
    this.#timer = setInterval(() => this.#warnings.watch(failed, this.#look()), lookEveryMs);
    this.#timer.unref();
    this.#warnings.watch(failed, this.#survey());
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#timer);
    this.#off();
  }

  /** Records that this dashboard has ended these holds. */
  forced(key: string, entries: readonly string[]): void {
    const names = new Set(entries.map((entry) => nameOf(key, entry)));
    for (const name of names) this.#forced.set(name, Date.now());
    // The end of the hold may have been reported already. Its reason is known now, and its session need not be looked
    // at.
    this.#unexplained = this.#unexplained.filter(
      ({ address }) => !names.has(nameOf(address.key, address.entry)),
    );
    for (const entry of entries)
      this.#history.add({ type: "explained", ...this.#address(key, entry), reason: "forced" });
  }

  #address(key: string, entry: string): HoldAddress {
    const { name, collector } = this.#cluster;
    return { cluster: name, backend: collector.backend, key, entry };
  }

  #heard(event: CollectorEvent): void {
    switch (event.type) {
      case "granted":
        // A new grant shows that the forced end of the hold before is over, even if the owner is the same thread again.
        this.#forced.delete(nameOf(event.key, event.entry));
        this.#history.add({
          ...{ type: "begun", ...this.#address(event.key, event.entry), found: false },
          ...{ sinceMs: event.atMs, exact: event.exact === true, waitedMs: event.waitedMs ?? null },
          owner: ownerOf(event.owner),
        });
        this.#met(event.owner);
        return;
      case "found":
        this.#history.add({
          ...{ type: "begun", ...this.#address(event.key, event.entry), found: true, waitedMs: null },
          sinceMs: event.since.atMs ?? Date.now(),
          exact: event.since.provenance === "exact",
          owner: ownerOf(event.owner),
        });
        this.#met(event.owner);
        return;
      case "identified":
        this.#history.add({
          ...{ type: "identified", ...this.#address(event.key, event.entry) },
          owner: knownOwner(event.owner),
        });
        this.#met(event.owner);
        return;
      case "released":
        this.#ended(event);
        return;
      case "unwatched":
        // Whether the hold goes on is not known. Without an end the history would show it as held for ever.
        this.#history.add({
          ...{ type: "ended", ...this.#address(event.key, event.entry), atMs: Date.now(), seen: false },
          ...{ heldMs: null, reason: "unknown", owner: null },
        });
        return;
    }
  }

  #ended(event: Extract<CollectorEvent, { type: "granted" | "released" }>): void {
    const { key, entry, atMs, heldMs, owner } = event;
    const address = this.#address(key, entry);
    const forcedMs = this.#forced.get(nameOf(key, entry));
    this.#forced.delete(nameOf(key, entry));
    const forced = forcedMs !== undefined && Date.now() - forcedMs < forcedWithinMs;
    const reason: EndReason = forced ? "forced" : (event.end ?? "unknown");
    const seen = event.end !== "unknown";
    this.#history.add({ type: "ended", ...address, atMs, seen, heldMs, reason, owner: ownerOf(owner) });
    const session = owner?.session ?? null;
    if (forced || event.end !== undefined || session === null) return;
    if (this.#unexplained.length < mostUnexplained)
      this.#unexplained.push({ address, session, atMs: Date.now() });
  }

  #met(owner: HoldOwner | undefined): void {
    const session = owner?.session ?? null;
    if (session === null || this.#sessions.has(session) || this.#cluster.collector.backend !== "zookeeper")
      return;
    if (this.#sessions.size < mostSessions) this.#sessions.set(session, null);
  }

  /** Records the holds that were found before this object listened. */
  async #survey(): Promise<void> {
    const { collector } = this.#cluster;
    const turns = new Turns();
    for (const lock of collector.locks()) {
      this.#found(lock);
      // A row shows the first holders. If it shows none, as with permits on Redis, no event reports their ends either.
      if (lock.holders.length > 0 && lock.holders.length < lock.holderCount) this.#crowded.add(lock.key);
      if (turns.isOver()) await turns.next();
      if (this.#closed) return;
    }
    this.#surveyed = true;
  }

  /**
   * Reads the locks with many holders. A lock that cannot be read now is read at a later look. Until then the history
   * is not complete, and ends none of its holds.
   */
  async #readCrowded(): Promise<void> {
    for (const key of this.#crowded) {
      // The sources of the backend report that it does not answer.
      const lock = await this.#cluster.collector.detail(key, { maxWaiters: 0 }).catch(() => undefined);
      if (this.#closed || lock === undefined) return;
      if (lock !== null) this.#found(lock);
      this.#crowded.delete(key);
    }
  }

  #found({ key, holders }: Pick<ObservedLock, "key" | "holders">): void {
    for (const { entry, since, session, identity, token } of holders)
      this.#heard({
        type: "found",
        key,
        entry,
        since,
        ...(session !== null && { owner: { session, identity, token } }),
      });
  }

  async #look(): Promise<void> {
    const { collector } = this.#cluster;
    const nowMs = Date.now();
    // The clock may have been set back.
    const forMs = Math.max(0, Math.min(nowMs - this.#lookedMs, 2 * lookEveryMs));
    this.#lookedMs = nowMs;
    let contended = 0;
    for (const { key, waiterCount, readMs } of collector.figures("contended")) {
      if (++contended > mostContended) break;
      // Without contact nothing is known of the waiters.
      if (nowMs - readMs > 2 * lookEveryMs) continue;
      const { cluster, backend } = this.#address(key, "");
      this.#history.add({ type: "waiting", cluster, backend, key, waiters: waiterCount, forMs });
    }
    for (const [name, atMs] of this.#forced) if (nowMs - atMs > forcedWithinMs) this.#forced.delete(name);
    if (this.#looking) return;
    this.#looking = true;
    try {
      // The first survey may have failed.
      if (!this.#surveyed) await this.#survey();
      await this.#readCrowded();
      if (!this.#complete) this.#lookWhetherComplete();
      await this.#lookAtSessions();
    } finally {
      this.#looking = false;
    }
  }

  /** Once everything has been listed, a hold that an earlier process saw and this one did not find is over. */
  #lookWhetherComplete(): void {
    const { state, name } = clusterRowOf(this.#cluster);
    // A root that is too big is not listed as long as it is too big. Its holds were given up when that was found.
    const listed = this.#cluster.collector.sources().filter((source) => source.state !== "too-big");
    if (!this.#surveyed || this.#crowded.size > 0 || state !== "ok" || coverageOf(listed) < 1) return;
    this.#complete = true;
    this.#history.add({ type: "complete", cluster: name, atMs: Date.now() });
  }

  /**
   * Explains why a node of ZooKeeper is gone. If its session is still connected, its client or an operator has deleted
   * the node. If the session had no connection before and has none now, its client could not delete anything, so the
   * session ended. In all other cases nothing is known.
   */
  async #lookAtSessions(): Promise<void> {
    const nowMs = Date.now();
    const due = this.#unexplained.filter(({ atMs }) => nowMs - atMs >= explainAfterMs);
    const asked = new Set([...this.#sessions.keys(), ...due.map(({ session }) => session)]);
    if (asked.size === 0) return;
    // A backend that does not answer has reported that in its sources. The ends wait for the next look.
    const contacts = await this.#cluster.collector.contacts([...asked]).catch(() => null);
    const states = new Map(contacts?.map(({ id, state }) => [id, state]));
    const explained = new Set<Unexplained>();
    for (const each of due) {
      const reason = this.#reasonOf(each, states.get(each.session));
      if (reason !== null) this.#history.add({ type: "explained", ...each.address, reason });
      if (contacts !== null || nowMs - each.atMs >= explainWithinMs) explained.add(each);
    }
    this.#unexplained = this.#unexplained.filter((each) => !explained.has(each));
    for (const [session, sinceMs] of this.#sessions) {
      const state = states.get(session);
      if (state === "connected") this.#sessions.set(session, null);
      if (state === "suspended" && sinceMs === null) this.#sessions.set(session, Date.now());
      if (sinceMs !== null && nowMs - sinceMs > forgetSuspendedMs) this.#sessions.delete(session);
    }
  }

  /**
   * A client that released and left at once looks the same as one whose session ended. Only a client that was away
   * before the end could not release.
   */
  #reasonOf({ session, atMs }: Unexplained, state: SessionContact["state"] | undefined): EndReason | null {
    if (state === "connected") return "released";
    const sinceMs = this.#sessions.get(session) ?? null;
    const wasAway = sinceMs !== null && sinceMs < atMs - eventDelayMs;
    return state === "suspended" && wasAway ? "session-ended" : null;
  }
}

function nameOf(key: string, entry: string): string {
  return `${key}\0${entry}`;
}

function ownerOf(owner: HoldOwner | undefined): KnownOwner | null {
  return owner === undefined ? null : knownOwner(owner);
}

function knownOwner({ session, identity, token }: HoldOwner): KnownOwner {
  return {
    ...{ session, token, label: identity?.label ?? null },
    ...{ host: identity?.host ?? null, pid: identity?.pid ?? null },
  };
}
