import type { Millis, Runtime, SessionState } from "@holdfast/core";
import { type Attempts, ConnectionWaiters } from "@holdfast/core/internal";
import type { OpName, RequestOf, ResponseOf } from "@holdfast/zk-protocol";
import type { Link } from "../client/link.js";
import { NotConnectedError, noConnection, SessionLostError, saysNoNode } from "./errors.js";
import { LeaseClock } from "./lease-clock.js";
import { Leftovers } from "./leftovers.js";
import type { SessionBasics } from "./options.js";
import { RequestSender } from "./request-sender.js";
import { SessionContact, SessionStates } from "./session-contact.js";
import { SessionEnding } from "./session-ending.js";
import type {
  RequestError,
  SessionLossReason,
  Settle,
  UnreadWatch,
  WatchHandle,
  WatchListener,
  ZooKeeperSession,
} from "./types.js";
import { WatchRegistry, type WatchTable } from "./watch-registry.js";
import { type Guarded, Watchdog } from "./watchdog.js";
import { type WatchContext, watchByRead, watchUnread } from "./watched-reads.js";

const defaultConnectTimeoutMs: Millis = 10_000;
const defaultCloseMs: Millis = 1_000;

export interface LinkedSessionParts extends SessionBasics {
  readonly link: Link;
  /** `host:port` of each server. */
  readonly servers: readonly string[];
  /** `false` for a user's own client, which is released at the end and never closed. */
  readonly owned: boolean;
  /** Called once, when the session does not need an adopted client any more. */
  readonly released?: () => void;
}

/** See `ZooKeeperSession`. */
export class LinkedSession implements ZooKeeperSession {
  readonly servers: readonly string[];
  readonly #link: Link;
  readonly #runtime: Runtime;
  readonly #owned: boolean;
  readonly #connectTimeoutMs: Millis;
  readonly #lease: LeaseClock;
  readonly #states: SessionStates;
  readonly #sender: RequestSender;
  readonly #ending: SessionEnding;
  readonly #contact: SessionContact;
  readonly #watchdog: Watchdog;
  readonly #waiters: ConnectionWaiters;
  readonly #watches = new WatchRegistry();
  readonly #watchContext: WatchContext;
  #held = false;
  #closing: Promise<void> | null = null;

  constructor(parts: LinkedSessionParts) {
    const { link, runtime, owned } = parts;
    const leftovers = owned ? null : new Leftovers(runtime);
    this.servers = parts.servers;
    this.#link = link;
    this.#runtime = runtime;
    this.#owned = owned;
    this.#connectTimeoutMs = parts.connectTimeoutMs ?? defaultConnectTimeoutMs;
    this.#lease = new LeaseClock(runtime);
    this.#states = new SessionStates(this.#lease);
    this.#sender = this.#makeSender(parts, leftovers);
    this.#ending = new SessionEnding(link, runtime, leftovers, parts.released);
    this.#watchContext = this.#makeWatchContext();
    this.#waiters = new ConnectionWaiters(runtime, this.#attempts(), noConnection);
    this.#watchdog = new Watchdog(this.#guarded(), link, this.#lease, runtime);
    this.#contact = this.#makeContact(parts.onWatchEvent);
    link.listen(this.#contact);
  }

  /** Starts the session: dials, or renews the connection that an adopted client has already. */
  start(): void {
    if (this.#owned) this.#link.start();
    else if (this.#link.stopped)
      this.#lose("expired", new Error("the client was closed before it was adopted"));
    else if (this.#link.up) this.#contact.adopt();
    this.#watchdog.check();
  }

  get state(): SessionState | "closed" {
    return this.#states.now;
  }

  get id(): bigint {
    return this.#link.sessionId;
  }

  get lossReason(): SessionLossReason | null {
    return this.#states.lossReason;
  }

  get timeoutMs(): Millis {
    return this.connection === 0 ? 0 : this.#link.timeoutMs;
  }

  get connection(): number {
    return this.#contact.connection;
  }

  get lastZxid(): bigint {
    return this.#link.lastZxid;
  }

  get heardAtMs(): Millis {
    return this.#watchdog.heardAtMs;
  }

  get asleep(): boolean {
    return this.#lease.slept && this.#link.up && !this.#states.over;
  }

  get behind(): boolean {
    return this.#link.behind;
  }

  leaseUntilMs(): Millis {
    this.#noticeSleep();
    return this.#lease.untilMs();
  }

  leaseEndMs(): Millis {
    this.#noticeSleep();
    return this.#lease.endMs();
  }

  send<K extends OpName>(op: K, request: RequestOf<K>, settle: Settle<ResponseOf<K>>): void {
    if (this.#mayNotSend(op, settle)) return;
    this.#holdProcess();
    this.#sender.send(op, request, settle, true);
  }

  request<K extends OpName>(op: K, request: RequestOf<K>): Promise<ResponseOf<K>> {
    return new Promise((resolve, reject) => {
      this.send(op, request, (outcome) => {
        if (outcome.ok) resolve(outcome.value);
        else reject(outcome.error);
      });
    });
  }

  watchData(path: string, listener: WatchListener<ResponseOf<"getData">>): WatchHandle {
    return watchByRead(this.#watchContext, "getData", path, listener, (outcome) => outcome);
  }

  watchUnread(watches: readonly UnreadWatch[], sinceZxid: bigint): WatchHandle[] {
    return watchUnread(this.#watchContext, watches, sinceZxid);
  }

  watchChildren(path: string, listener: WatchListener<ResponseOf<"getChildren2">>): WatchHandle {
    return watchByRead(this.#watchContext, "getChildren2", path, listener, (outcome) => outcome);
  }

  watchExists(path: string, listener: WatchListener<ResponseOf<"exists"> | null>): WatchHandle {
    return watchByRead(this.#watchContext, "exists", path, listener, (outcome) =>
      // The zxid of an error reply is not passed on: this 0 stands for no zxid.
      !outcome.ok && saysNoNode(outcome.error) ? { ok: true, value: null, zxid: 0n } : outcome,
    );
  }

  prove(settle: Settle<void> = () => {}): void {
    if (!this.#mayNotSend("sync", settle)) this.#sender.prove(settle);
  }

  onState(listener: (state: SessionState | "closed") => void): () => void {
    return this.#states.listen(listener);
  }

  onBroken(listener: () => void): () => void {
    return this.#states.listenToBreaks(listener);
  }

  whenConnected(options: { waitMs?: Millis; signal?: AbortSignal } = {}): Promise<void> {
    // The lease is judged now, because its timer may be late. If this call says that the session is lost, the next
    // session is open already.
    if (this.#states.ranOut) this.#watchdog.check();
    if (this.#states.over) {
      return Promise.reject(new SessionLostError("whenConnected", { cause: this.#states.lostCause }));
    }
    if (this.#states.told === "connected") return Promise.resolve();
    this.#holdProcess();
    return this.#waiters.wait(options.waitMs ?? this.#connectTimeoutMs, options.signal);
  }

  close(options: { waitMs?: Millis } = {}): Promise<void> {
    this.#closing ??= this.#close(options.waitMs ?? defaultCloseMs);
    return this.#closing;
  }

  /** Called before the lease is read, so that holds come in doubt first. */
  #noticeSleep(): void {
    if (this.#lease.slept && this.#states.told === "connected") this.#watchdog.check();
  }

  // ---- sending

  #mayNotSend<T>(op: OpName, settle: Settle<T>): boolean {
    const { over, lostCause } = this.#states;
    if (!over && this.#link.up) return false;
    const error: RequestError = over
      ? new SessionLostError(op, { cause: lostCause })
      : new NotConnectedError(op);
    queueMicrotask(() => settle({ ok: false, error }));
    return true;
  }

  #makeSender(
    { link, runtime, leaseProof, meter }: LinkedSessionParts,
    leftovers: Leftovers | null,
  ): RequestSender {
    const quorum = leaseProof === "quorum";
    const session = this;
    return new RequestSender(
      { link, runtime, lease: this.#lease, leftovers, quorum, meter },
      {
        get over() {
          return session.#states.over;
        },
        get heardAtMs() {
          return session.#watchdog.heardAtMs;
        },
        sent: (atMs) => session.#watchdog.sent(atMs),
        proven: () => session.#contact.reconsider(),
      },
    );
  }

  // ---- watches

  #makeWatchContext(): WatchContext {
    const session = this;
    return {
      watches: this.#watches,
      get up() {
        return session.#link.up && !session.#states.over;
      },
      send: (op, request, settle) => session.send(op, request, settle),
      // NoWatcher means that the watch has fired meanwhile. If the connection ended, the watch went with it.
      removeWatches: (path, type) => session.#sender.send("removeWatches", { path, type }, () => {}, false),
      idle: () => this.#watchdog.sent(this.#runtime.nowMs()),
      watchedByOthers: (path: string, table: WatchTable) =>
        !session.#owned && session.#link.mayBeWatchedByLibrary(path, table),
    };
  }

  #makeContact(onWatchEvent: SessionBasics["onWatchEvent"]): SessionContact {
    return new SessionContact({
      link: this.#link,
      lease: this.#lease,
      states: this.#states,
      sender: this.#sender,
      watches: this.#watches,
      watchdog: this.#watchdog,
      waiters: this.#waiters,
      onWatchEvent,
      lose: (reason, cause) => this.#lose(reason, cause),
    });
  }

  // ---- ends

  #lose(reason: SessionLossReason, cause: unknown): void {
    if (this.#states.over) return;
    this.#end(reason, cause);
    this.#ending.lost();
  }

  #close(waitMs: Millis): Promise<void> {
    const wasOver = this.#states.over;
    const met = this.connection > 0;
    if (!wasOver) this.#end(null, undefined);
    return this.#ending.closed(waitMs, { wasOver, met });
  }

  /** `reason`: why the session is lost; `null`: it was closed. */
  #end(reason: SessionLossReason | null, cause: unknown): void {
    this.#states.end(reason, cause, () => {
      this.#watchdog.stop();
      this.#watches.clear();
    });
    this.#waiters.reject(new SessionLostError("whenConnected", { cause }));
    // Requests in flight end now, because no answer to them will come. Only a close of our own client lets them be
    // answered first.
    if (reason === null && this.#owned) return;
    this.#sender.loseAll(cause);
  }

  // ---- what the watchdog asks for

  #guarded(): Guarded {
    const session = this;
    return {
      get proofSentAtMs() {
        return session.#sender.proofs.sentAtMs;
      },
      get proofAnsweredAtMs() {
        return session.#sender.proofs.answeredAtMs;
      },
      get countsMoreFromMs() {
        return session.#sender.activity.countsMoreFromMs(session.#lease.provenAtMs, session.#link.timeoutMs);
      },
      serverCount: this.servers.length,
      suspend: () => session.#states.suspend(),
      expire: () => session.#lose("lease", new Error("the lease ran out without an answer of the server")),
      prove: (settled) => session.#sender.prove(settled),
      rest: () => session.#rest(),
    };
  }

  #attempts(): Attempts {
    const session = this;
    return {
      servers: this.servers,
      get lastCause() {
        return session.#contact.lastCause;
      },
      get refused() {
        return session.#contact.refusals >= session.servers.length;
      },
    };
  }

  #holdProcess(): void {
    if (this.#held) return;
    this.#held = true;
    this.#link.hold(true);
  }

  /**
   * Releases the process: with no request in flight, no watch and no waiting call, it may exit by itself with the session
   * open.
   */
  #rest(): void {
    const needed = this.#sender.awaited > 0 || this.#watches.size > 0 || this.#waiters.size > 0;
    if (needed || !this.#held) return;
    this.#held = false;
    this.#link.hold(false);
  }
}
