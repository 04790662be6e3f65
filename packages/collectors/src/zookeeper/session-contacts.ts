import type { Millis } from "@holdfast/core";
import { RecentMap } from "@holdfast/core/internal";
import type { ZooKeeperSession } from "@holdfast/zk-recipes/internal";
import type { ObservedSession, SessionContact } from "../observe/observed-lock.js";
import { type Connections, readConnections, unnamedServers } from "./connections.js";
import type { Settings } from "./options.js";

/** The most sessions that are remembered; those that were seen longest ago are forgotten first. */
const mostRemembered = 20_000;
/** When the last reading is older than this, a session without a connection may have had one in between. */
const readInTurnMs: Millis = 10_000;

/**
 * Keeps the last reading of connections, and what only earlier readings show: no server knows the time-out of a session
 * without a connection.
 */
export class SessionContacts {
  readonly #timeouts = new RecentMap<string, Millis>(mostRemembered);
  /** Wall time at which a session was first found without a connection. */
  readonly #lostSince = new RecentMap<string, number>(mostRemembered);
  #readMs: Millis = -Infinity;
  #connected: ReadonlySet<string> = new Set();
  #complete = false;

  /** Asks each server of `connect` now; `session` is the collector's own. Never rejects. */
  async read(
    settings: Settings,
    session: ZooKeeperSession,
  ): Promise<Connections & { readonly unnamed: number | null }> {
    const [read, unnamed] = await Promise.all([readConnections(settings), unnamedServers(settings, session)]);
    const nowMs = settings.runtime.nowMs();
    if (nowMs - this.#readMs > readInTurnMs) this.#lostSince.clear();
    this.#readMs = nowMs;
    this.#connected = new Set(read.connections.map((connection) => connection.session));
    // A session that no asked server has may be connected to one that was not asked.
    this.#complete = read.silent.length === 0 && unnamed === 0;
    for (const { session: id, timeoutMs } of read.connections) {
      this.#lostSince.delete(id);
      if (timeoutMs !== null) this.#timeouts.set(id, timeoutMs);
    }
    return { ...read, unnamed };
  }

  /** The contact of a session by the last reading, which was at `nowMs`, wall time. */
  of(id: string, nowMs: number): SessionContact {
    const state = this.#stateOf(id);
    const timeoutMs = this.#timeouts.get(id) ?? null;
    if (state !== "suspended") return { id, state, timeoutMs, endsMs: null };
    const sinceMs = this.#lostSince.get(id) ?? nowMs;
    this.#lostSince.set(id, sinceMs);
    return { id, state, timeoutMs, endsMs: timeoutMs === null ? null : sinceMs + timeoutMs };
  }

  #stateOf(id: string): ObservedSession["state"] {
    if (this.#connected.has(id)) return "connected";
    return this.#complete ? "suspended" : "unknown";
  }
}
