import type { Millis } from "@holdfast/core";
import { RecentMap } from "@holdfast/core/internal";
import type { ObservedSession, SessionContact } from "../observe/observed-lock.js";
import type { Connections } from "./connections.js";

/** Sessions that are remembered; those that were seen longest ago are forgotten first. */
const mostRemembered = 20_000;

/** What was read of connections, and what only earlier readings can tell: a session without a connection has no time-out anywhere. */
export class SessionContacts {
  readonly #timeouts = new RecentMap<string, Millis>(mostRemembered);
  /** Wall time at which a session was first found without a connection. */
  readonly #lostSince = new RecentMap<string, number>(mostRemembered);
  #connected: ReadonlySet<string> = new Set();
  #complete = false;

  read({ connections, silent }: Connections): void {
    this.#connected = new Set(connections.map(({ session }) => session));
    this.#complete = silent.length === 0;
    for (const { session, timeoutMs } of connections) {
      this.#lostSince.delete(session);
      if (timeoutMs !== null) this.#timeouts.set(session, timeoutMs);
    }
  }

  /** By the last reading, which was at `nowMs`, wall time. */
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
