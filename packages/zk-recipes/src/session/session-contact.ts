import type { SessionState } from "@holdfast/core";
import type { ConnectionWaiters } from "@holdfast/core/internal";
import type { WatcherEvent } from "@holdfast/zk-protocol";
import { guarded } from "../client/guarded.js";
import type { Link } from "../client/link.js";
import type { LinkListener } from "../client/link-listener.js";
import type { WatchedPaths } from "../client/set-watches.js";
import type { LeaseClock, Stamp } from "./lease-clock.js";
import type { RequestSender } from "./request-sender.js";
import type { SessionLossReason } from "./types.js";
import type { WatchRegistry } from "./watch-registry.js";
import type { Watchdog } from "./watchdog.js";

type StateListener = (state: SessionState | "closed") => void;

/** The state of a session, its listeners, and the reason of its end. */
export class SessionStates {
  readonly #lease: LeaseClock;
  readonly #listeners = new Set<StateListener>();
  readonly #breakListeners = new Set<() => void>();
  #state: SessionState | "closed" = "connecting";
  #lossReason: SessionLossReason | null = null;
  #lostCause: unknown;

  constructor(lease: LeaseClock) {
    this.#lease = lease;
  }

  /** The state that was reported to the listeners last. */
  get told(): SessionState | "closed" {
    return this.#state;
  }

  /**
   * The state now. It is `"lost"` also when the lease ran out while the event loop was blocked, before the timer that
   * reports the loss has run.
   */
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

  /** Whether the lease has run out. Nothing can repair that: the next timer or frame judges the lease before anything else. */
  get ranOut(): boolean {
    return this.#lease.ranOut;
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

  listenToBreaks(listener: () => void): () => void {
    this.#breakListeners.add(listener);
    return () => this.#breakListeners.delete(listener);
  }

  suspend(): void {
    if (this.#state === "connected") this.set("suspended");
  }

  /** Contact is broken. The session may be suspended already, because the machine seems to have slept. */
  broken(): void {
    this.suspend();
    if (!this.over) for (const listener of [...this.#breakListeners]) guarded(listener);
  }

  /** Ends the session for good; call it once. `ending` runs before the listeners. */
  end(reason: SessionLossReason | null, cause: unknown, ending: () => void): void {
    this.#lossReason = reason;
    this.#lostCause = cause;
    this.#lease.end();
    ending();
    this.set(reason === null ? "closed" : "lost");
  }
}

export interface ContactParts {
  readonly link: Link;
  readonly lease: LeaseClock;
  readonly states: SessionStates;
  readonly sender: RequestSender;
  readonly watches: WatchRegistry;
  readonly watchdog: Watchdog;
  readonly waiters: ConnectionWaiters;
  readonly onWatchEvent: ((event: WatcherEvent) => void) | undefined;
  lose(reason: SessionLossReason, cause: unknown): void;
}

/** Follows the link of a session: connections that come and go, and what each of them proves. */
export class SessionContact implements LinkListener {
  /** The number of connections so far, the present one included. */
  connection = 0;
  /** Why the last connection, or the last attempt at one, ended. */
  lastCause: unknown;
  /** The number of attempts in a row that a server refused. */
  refusals = 0;
  readonly #parts: ContactParts;
  /** When the handshake of the present connection was sent; `null` when it was sent before we adopted the client. */
  #greetingSent: Stamp | null = null;
  #greetingAsksForNew = false;

  constructor(parts: ContactParts) {
    this.#parts = parts;
  }

  /** Takes over the connection that an adopted client has already. */
  adopt(): void {
    this.connection = 1;
    this.#takeUpAnew();
  }

  /**
   * Sets the state to `connected` if all of it is true: there is a connection with accepted credentials, its watches were
   * sent, and the lease was proven recently. Call it whenever one of these may have become true.
   */
  reconsider(): void {
    const { link, lease, states, waiters } = this.#parts;
    if (states.over || states.told === "connected" || !link.up || !link.authenticated) return;
    const nowMs = lease.stamp().atMs;
    if (nowMs - lease.provenAtMs >= (link.timeoutMs * 2) / 3 || lease.untilMs() <= nowMs) return;
    states.set("connected");
    waiters.connected();
  }

  dialling(): void {
    this.#parts.watchdog.check();
  }

  greeting(): void {
    this.#greetingSent = this.#parts.lease.stamp();
    this.#greetingAsksForNew = this.#parts.link.sessionId === 0n;
  }

  received(): void {
    this.#parts.watchdog.received();
  }

  /** The watches are sent before all other requests. */
  watched(): WatchedPaths {
    return this.#parts.watches.armedPaths();
  }

  greeted(): void {
    const { link, lease, sender } = this.#parts;
    this.connection += 1;
    // A leader that lost its quorum without noticing still greets an old session, but cannot make a new one.
    const proves = this.#greetingSent !== null && (!sender.proofs.quorum || this.#greetingAsksForNew);
    sender.greeted(this.#greetingSent);
    if (this.#greetingSent === null) this.#takeUpAnew();
    if (proves) lease.prove(this.#greetingSent as Stamp, link.timeoutMs);
    else lease.shorten(link.timeoutMs);
  }

  up(): void {
    this.refusals = 0;
    this.reconsider();
    this.#parts.watchdog.check();
  }

  event(event: WatcherEvent): void {
    const { states, watches, onWatchEvent } = this.#parts;
    if (states.over) return;
    watches.fire(event);
    if (onWatchEvent !== undefined) guarded(() => onWatchEvent(event));
  }

  expired(): void {
    this.#parts.lose("expired", new Error("the server does not know the session any more"));
  }

  authFailed(cause: Error): void {
    this.#parts.lose("auth", cause);
  }

  broken(): void {
    this.#parts.states.broken();
  }

  down(cause: Error | null, wasUp: boolean): void {
    const { states, waiters, watchdog } = this.#parts;
    this.#greetingSent = null;
    if (cause !== null) this.lastCause = cause;
    const refused = !wasUp && cause !== null && "code" in cause;
    this.refusals = refused ? this.refusals + 1 : 0;
    states.broken();
    waiters.attemptFailed();
    watchdog.check();
  }

  over(): void {
    this.#parts.lose("expired", new Error("the client was closed"));
  }

  /**
   * This connection made its handshake before the client was adopted, so the session does not know since when the leader
   * counts the lease. This sends one proof, and cuts the connection when the proof has ended. The session then sees the
   * handshake of the next connection. Answers come in order, so the requests that the owner of the client has in flight
   * are answered first.
   *
   * A session that is over ends its proof too, and the connection then stays: the owner may just be closing the client,
   * whose close request is still to leave.
   */
  #takeUpAnew(): void {
    const { link, sender, states } = this.#parts;
    sender.prove(() => {
      if (!states.over) link.cut("the client was adopted, and its session is taken up anew");
    });
  }
}
