import { BackendError, type Millis, type Runtime, type SessionState } from "@holdfast/core";
import type { BackendLink, EventHub } from "@holdfast/core/internal";
import type { SimulatedServer } from "./simulated-server.js";

export const sessionTimeoutMs = 6_000;
const marginMs = 120;

/** A connection with delays in both directions, which can be cut. What is under way at the cut is never answered. */
export class SimulatedLink implements BackendLink {
  state: SessionState = "connecting";
  session = "";
  onConnected: (fresh: boolean) => void = () => {};
  onDown: () => void = () => {};
  onSessionLost: () => void = () => {};

  /** Counts connections. A message that was sent over one of them does not reach the next. */
  get connection(): number {
    return this.#connection;
  }

  readonly #server: SimulatedServer;
  readonly #runtime: Runtime;
  readonly #events: EventHub;
  #connection = 0;
  #cut = false;
  #closed = false;
  #leaseUntilMs: Millis = -Infinity;
  #arrivalMs: Millis = 0;
  #answerMs: Millis = 0;
  #inFlight = new Set<() => void>();
  readonly #waiters = new Set<() => void>();

  constructor(server: SimulatedServer, events: EventHub) {
    this.#server = server;
    this.#runtime = server.runtime;
    this.#events = events;
    this.#connect();
    this.#keepAlive();
  }

  leaseUntilMs(): Millis {
    return this.state === "lost" ? -Infinity : this.#leaseUntilMs;
  }

  /**
   * Calls `fn` at the server. Resolves to its result, or to `undefined` when the connection ends first. Calls and answers keep
   * their order.
   */
  call<T>(fn: () => T): Promise<T | undefined> {
    if (this.state !== "connected") return Promise.resolve(undefined);
    return this.#exchange(fn);
  }

  /** Sends a message from the server to the client, in order with the answers. It is lost if the connection ends. */
  push(session: string, fn: () => void): void {
    const connection = this.#connection;
    if (this.#cut || session !== this.session) return;
    this.#at("answer", () => {
      if (connection === this.#connection) fn();
    });
  }

  whenConnected({ waitMs }: { waitMs: Millis }): Promise<void> {
    if (this.state === "connected") return Promise.resolve();
    return new Promise((resolve, reject) => {
      const up = (): void => {
        cancel();
        this.#waiters.delete(up);
        resolve();
      };
      const cancel = this.#runtime.setTimer(waitMs, () => {
        this.#waiters.delete(up);
        reject(
          new BackendError(`no contact within ${waitMs} ms`, { backend: "memory", servers: ["simulated"] }),
        );
      });
      this.#waiters.add(up);
    });
  }

  cut(): void {
    this.#cut = true;
    this.#drop();
  }

  mend(): void {
    if (!this.#cut) return;
    this.#cut = false;
    this.#connect();
  }

  /** The server ends the session and the connection. */
  expire(): void {
    this.#server.endSession(this.session);
    if (this.#cut) return;
    this.#drop();
    this.#connect();
  }

  close(): void {
    this.#closed = true;
    this.#server.endSession(this.session);
    this.#drop();
  }

  #exchange<T>(fn: () => T): Promise<T | undefined> {
    const connection = this.#connection;
    const sentMs = this.#runtime.nowMs();
    return new Promise((resolve) => {
      const lost = (): void => resolve(undefined);
      this.#inFlight.add(lost);
      this.#at("arrival", () => {
        if (connection !== this.#connection) return;
        this.#server.touch(this.session);
        const answer = fn();
        this.#at("answer", () => {
          if (connection !== this.#connection) return;
          this.#inFlight.delete(lost);
          this.#leaseUntilMs = Math.max(this.#leaseUntilMs, sentMs + sessionTimeoutMs - marginMs);
          resolve(answer);
        });
      });
    });
  }

  #at(way: "arrival" | "answer", fn: () => void): void {
    const delayMs = this.#runtime.random() * 4;
    const last = way === "arrival" ? this.#arrivalMs : this.#answerMs;
    const atMs = Math.max(this.#runtime.nowMs() + delayMs, last + 0.001);
    if (way === "arrival") this.#arrivalMs = atMs;
    else this.#answerMs = atMs;
    this.#runtime.setTimer(atMs - this.#runtime.nowMs(), fn);
  }

  #drop(): void {
    this.#connection++;
    const inFlight = this.#inFlight;
    this.#inFlight = new Set();
    if (this.state === "connected") {
      this.#become("suspended");
      this.onDown();
    }
    for (const lost of inFlight) lost();
  }

  #connect(): void {
    const connection = ++this.#connection;
    this.#runtime.setTimer(this.#runtime.random() * 8, () => {
      if (connection !== this.#connection || this.#closed) return;
      this.#judgeLease();
      const sentMs = this.#runtime.nowMs();
      const fresh = this.session === "" || this.state === "lost" || !this.#server.touch(this.session);
      if (fresh && this.session !== "") {
        this.#become("lost");
        this.onSessionLost();
      }
      if (fresh) {
        this.session = this.#server.openSession(sessionTimeoutMs);
        this.#leaseUntilMs = -Infinity;
      }
      this.#leaseUntilMs = Math.max(this.#leaseUntilMs, sentMs + sessionTimeoutMs - marginMs);
      this.#become("connected");
      this.onConnected(fresh);
      for (const up of [...this.#waiters]) up();
    });
  }

  #judgeLease(): void {
    if (this.session === "" || this.state === "lost" || this.#runtime.nowMs() < this.#leaseUntilMs) return;
    this.#server.endSession(this.session);
    this.#become("lost");
    this.onSessionLost();
    if (!this.#cut) {
      this.#drop();
      this.#connect();
    }
  }

  #keepAlive(): void {
    this.#runtime.setTimer(sessionTimeoutMs / 3, () => {
      if (this.#closed) return;
      this.#judgeLease();
      void this.call(() => true);
      this.#keepAlive();
    });
  }

  #become(state: SessionState): void {
    if (state === this.state) return;
    this.state = state;
    this.#events.emit("session-state", { state, timeoutMs: sessionTimeoutMs, cluster: "simulated" });
  }
}
