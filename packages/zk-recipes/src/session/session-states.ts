import type { Runtime, SessionState } from "@holdfast/core";
import { guarded } from "../client/guarded.js";
import type { LeaseClock } from "./lease-clock.js";
import type { SessionLossReason } from "./types.js";

type StateListener = (state: SessionState | "closed") => void;

/** The state of a session, whom it is told, and what ended it. */
export class SessionStates {
  readonly #lease: LeaseClock;
  readonly #runtime: Runtime;
  readonly #listeners = new Set<StateListener>();
  #state: SessionState | "closed" = "connecting";
  #lossReason: SessionLossReason | null = null;
  #lostCause: unknown;

  constructor(lease: LeaseClock, runtime: Runtime) {
    this.#lease = lease;
    this.#runtime = runtime;
  }

  /** As its listeners have been told. */
  get told(): SessionState | "closed" {
    return this.#state;
  }

  /** Also tells a lease that ran out while the loop was blocked, before the timer that makes it known has run. */
  get now(): SessionState | "closed" {
    return this.ranOut ? "lost" : this.#state;
  }

  get lossReason(): SessionLossReason | null {
    return this.ranOut ? "lease" : this.#lossReason;
  }

  get lostCause(): unknown {
    return this.#lostCause;
  }

  get over(): boolean {
    return this.#state === "lost" || this.#state === "closed";
  }

  /** Nothing can mend it any more: the next timer or frame judges the lease before anything else. */
  get ranOut(): boolean {
    return this.#lease.provenAtMs !== -Infinity && this.#runtime.nowMs() >= this.#lease.endMs();
  }

  listen(listener: StateListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  set(state: SessionState | "closed"): void {
    if (this.#state === state || this.over) return;
    this.#state = state;
    for (const listener of [...this.#listeners]) guarded(() => listener(state));
  }

  suspend(): void {
    if (this.#state === "connected") this.set("suspended");
  }

  /** `ending` runs before the listeners. For good: to be called once. */
  end(reason: SessionLossReason | null, cause: unknown, ending: () => void): void {
    this.#lossReason = reason;
    this.#lostCause = cause;
    this.#lease.end();
    ending();
    this.set(reason === null ? "closed" : "lost");
  }
}
