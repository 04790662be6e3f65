import { BackendError } from "../api/errors.js";
import type { BackendLink } from "../api/link.js";
import type { Runtime } from "../api/runtime.js";
import type { Millis, SessionState } from "../api/values.js";
import type { EventHub } from "../events/event-hub.js";

interface LinkListener {
  contact(change: "uncertain" | "recovered"): void;
  /** Returns what ends the places that the session has now. */
  sessionEnds(): () => void;
}

/** Stands in for the connection that memory does not have. It is always up, unless a test breaks it. */
export class MemoryLink implements BackendLink {
  readonly #events: EventHub;
  readonly #runtime: Runtime;
  readonly #id: string;
  #state: SessionState = "connected";
  #sessionCount = 1;
  #session: string;
  #listener: LinkListener | undefined;
  #waiters = new Set<() => void>();
  #closed = false;

  constructor(id: string, events: EventHub, runtime: Runtime) {
    this.#id = id;
    this.#session = `${id}#1`;
    this.#events = events;
    this.#runtime = runtime;
  }

  get state(): SessionState {
    return this.#state;
  }

  get session(): string {
    return this.#session;
  }

  listen(listener: LinkListener): void {
    this.#listener = listener;
  }

  /** Resolves when connected, or closed. */
  whenUp(): Promise<void> {
    if (this.#state === "connected" || this.#closed) return Promise.resolve();
    return new Promise((resolve) => this.#waiters.add(resolve));
  }

  whenConnected(options: { waitMs: Millis; signal?: AbortSignal }): Promise<void> {
    const { waitMs, signal } = options;
    if (this.#state === "connected") return Promise.resolve();
    if (signal?.aborted === true) return Promise.reject(signal.reason);
    return new Promise((resolve, reject) => {
      const end = (): void => {
        cancelTimer();
        this.#waiters.delete(up);
        signal?.removeEventListener("abort", aborted);
      };
      const up = (): void => {
        end();
        resolve();
      };
      const aborted = (): void => {
        end();
        reject(signal?.reason);
      };
      const late = (): void => {
        end();
        const servers = [this.#id];
        reject(new BackendError(`memory: no contact within ${waitMs} ms`, { backend: "memory", servers }));
      };
      const cancelTimer = this.#runtime.setTimer(waitMs, late, { ref: true });
      this.#waiters.add(up);
      signal?.addEventListener("abort", aborted, { once: true });
    });
  }

  // -------- for tests

  suspend(): void {
    if (this.#state !== "connected") return;
    this.#become("suspended");
    this.#listener?.contact("uncertain");
  }

  reconnect(): void {
    if (this.#state === "connected" || this.#closed) return;
    this.#become("connected");
    this.#listener?.contact("recovered");
    this.#wake();
  }

  /** The session ends at the backend; there is no session until `reconnect()`. */
  expire(): void {
    if (this.#state === "lost") return;
    this.#session = `${this.#id}#${++this.#sessionCount}`;
    // A listener of the event that reads a hold would end that hold alone, and no waiter behind it would be served.
    const ended = this.#listener?.sessionEnds();
    this.#become("lost");
    ended?.();
  }

  close(): void {
    this.#closed = true;
    this.#wake();
  }

  #wake(): void {
    const waiters = this.#waiters;
    this.#waiters = new Set();
    for (const wake of waiters) wake();
  }

  #become(state: SessionState): void {
    this.#state = state;
    this.#events.emit("session-state", { state, timeoutMs: 0, cluster: "memory" });
  }
}
