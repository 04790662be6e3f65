import { InvalidArgumentError, type Millis, type Runtime, type SessionState } from "@holdfast/core";
import {
  encodeRequest,
  maxRequestBytes,
  type OpName,
  opCodes,
  type ProtocolError,
  type ReplyHeader,
  type RequestOf,
  type ResponseOf,
  type WatcherEvent,
} from "@holdfast/zk-protocol";
import { guarded } from "../client/guarded.js";
import type { Link, LinkListener } from "../client/link.js";
import { SentPacket } from "../client/packet.js";
import { Activity } from "./activity.js";
import { Call, type CallDesk, type RequestSettled } from "./call.js";
import { type Attempts, ConnectionWaiters } from "./connection-waiters.js";
import { NotConnectedError, SessionLostError } from "./errors.js";
import { Farewell } from "./farewell.js";
import { LeaseClock, type Stamp } from "./lease-clock.js";
import { Leftovers } from "./leftovers.js";
import type { SessionBasics } from "./options.js";
import { Proofs } from "./proofs.js";
import type {
  Outcome,
  RequestError,
  SessionLossReason,
  Settle,
  WatchHandle,
  WatchListener,
  ZooKeeperSession,
} from "./types.js";
import { WatchRegistry, type WatchTable } from "./watch-registry.js";
import { type RestoreDesk, WatchRestorer } from "./watch-restorer.js";
import { type Guarded, Watchdog } from "./watchdog.js";
import { isNoNode, type WatchDesk, watchedRead } from "./watched-reads.js";

const defaultConnectTimeoutMs: Millis = 10_000;
const defaultCloseMs: Millis = 1_000;

export interface LinkedSessionParts extends SessionBasics {
  readonly link: Link;
  /** `host:port` of each. */
  readonly servers: readonly string[];
  /** False for a user's own client: it is let go of at the end, never closed. */
  readonly owned: boolean;
  /** Called once when the session has no more use for an adopted client. */
  readonly released?: () => void;
}

/** See `ZooKeeperSession`. */
export class LinkedSession implements ZooKeeperSession {
  readonly servers: readonly string[];
  readonly #link: Link;
  readonly #runtime: Runtime;
  readonly #owned: boolean;
  /** Of an adopted client's session, which we cannot end. */
  readonly #leftovers: Leftovers | null;
  readonly #proofs: Proofs;
  readonly #restorer: WatchRestorer;
  readonly #connectTimeoutMs: Millis;
  readonly #onRequestSettled: ((settled: RequestSettled) => void) | undefined;
  readonly #released: (() => void) | undefined;
  readonly #lease: LeaseClock;
  readonly #activity = new Activity();
  readonly #watchdog: Watchdog;
  readonly #waiters: ConnectionWaiters;
  readonly #watches = new WatchRegistry();
  readonly #stateListeners = new Set<(state: SessionState | "closed") => void>();
  readonly #callDesk: CallDesk;
  readonly #watchDesk: WatchDesk;
  #state: SessionState | "closed" = "connecting";
  #connection = 0;
  /** Of the connection under way; null when the handshake left before an adopted client was ours. */
  #greetingSent: Stamp | null = null;
  #greetingAsksForNew = false;
  #lossReason: SessionLossReason | null = null;
  #lostCause: unknown;
  #lastCause: unknown;
  #refusals = 0;
  /** Calls in flight that somebody outside waits for; keep-alives are not among them. */
  #awaited = 0;
  #held = false;
  #farewell: Farewell | null = null;
  #closing: Promise<void> | null = null;

  constructor(parts: LinkedSessionParts) {
    this.servers = parts.servers;
    this.#link = parts.link;
    this.#runtime = parts.runtime;
    this.#owned = parts.owned;
    this.#leftovers = parts.owned ? null : new Leftovers();
    this.#proofs = new Proofs(parts.leaseProof === "quorum");
    this.#connectTimeoutMs = parts.connectTimeoutMs ?? defaultConnectTimeoutMs;
    this.#onRequestSettled = parts.onRequestSettled;
    this.#released = parts.released;
    this.#lease = new LeaseClock(parts.runtime);
    this.#restorer = this.#makeRestorer();
    this.#callDesk = this.#makeCallDesk();
    this.#watchDesk = this.#makeWatchDesk();
    this.#waiters = new ConnectionWaiters(parts.runtime, this.#attempts());
    this.#watchdog = new Watchdog(this.#guarded(), this.#link, this.#lease, parts.runtime);
    this.#link.listen(this.#listener());
  }

  /** Goes to work: dials, or renews the connection that an adopted client has already. */
  start(): void {
    if (this.#owned) this.#link.start();
    else if (this.#link.stopped)
      this.#lose("expired", new Error("the client was closed before it was adopted"));
    else if (this.#link.up) {
      this.#connection = 1;
      this.#takeUpAnew();
    }
    this.#watchdog.check();
  }

  /** Also tells a lease that ran out while the loop was blocked, before the timer that makes it known has run. */
  get state(): SessionState | "closed" {
    return this.#ranOut ? "lost" : this.#state;
  }

  get id(): bigint {
    return this.#link.sessionId;
  }

  get lossReason(): SessionLossReason | null {
    return this.#ranOut ? "lease" : this.#lossReason;
  }

  get timeoutMs(): Millis {
    return this.#connection === 0 ? 0 : this.#link.timeoutMs;
  }

  get connection(): number {
    return this.#connection;
  }

  leaseUntilMs(): Millis {
    return this.#lease.untilMs();
  }

  send<K extends OpName>(op: K, request: RequestOf<K>, settle: Settle<ResponseOf<K>>): void {
    if (this.#over) this.#refuse(settle, new SessionLostError(op, { cause: this.#lostCause }));
    else if (!this.#link.up) this.#refuse(settle, new NotConnectedError(op));
    else {
      this.#awaited += 1;
      this.#holdProcess();
      this.#dispatch(op, request, settle, true);
    }
  }

  request<K extends OpName>(op: K, request: RequestOf<K>): Promise<ResponseOf<K>> {
    return new Promise((resolve, reject) => {
      this.send(op, request, (outcome) => {
        if (outcome.ok) resolve(outcome.value);
        else reject(outcome.error);
      });
    });
  }

  batch(write: () => void): void {
    this.#link.batch(write);
  }

  watchData(path: string, listener: WatchListener<ResponseOf<"getData">>): WatchHandle {
    return watchedRead(this.#watchDesk, "getData", path, listener, (outcome) => outcome);
  }

  watchChildren(path: string, listener: WatchListener<ResponseOf<"getChildren2">>): WatchHandle {
    return watchedRead(this.#watchDesk, "getChildren2", path, listener, (outcome) => outcome);
  }

  watchExists(path: string, listener: WatchListener<ResponseOf<"exists"> | null>): WatchHandle {
    return watchedRead(this.#watchDesk, "exists", path, listener, (outcome) =>
      // The zxid of an error reply is not handed on; nothing may be read into this 0.
      isNoNode(outcome) ? { ok: true, value: null, zxid: 0n } : outcome,
    );
  }

  prove(settle: Settle<void> = () => {}): void {
    if (this.#over) this.#refuse(settle, new SessionLostError("sync", { cause: this.#lostCause }));
    else if (!this.#link.up) this.#refuse(settle, new NotConnectedError("sync"));
    else this.#sendProof(settle);
  }

  onState(listener: (state: SessionState | "closed") => void): () => void {
    this.#stateListeners.add(listener);
    return () => this.#stateListeners.delete(listener);
  }

  whenConnected(options: { waitMs?: Millis; signal?: AbortSignal } = {}): Promise<void> {
    // Judged now, whatever the timers do: whoever hears that this session is lost finds its successor in place.
    if (this.#ranOut) this.#watchdog.check();
    if (this.#over) {
      return Promise.reject(new SessionLostError("whenConnected", { cause: this.#lostCause }));
    }
    if (this.#state === "connected") return Promise.resolve();
    this.#holdProcess();
    return this.#waiters.wait(options.waitMs ?? this.#connectTimeoutMs, options.signal);
  }

  close(options: { waitMs?: Millis } = {}): Promise<void> {
    this.#closing ??= this.#close(options.waitMs ?? defaultCloseMs);
    return this.#closing;
  }

  get #over(): boolean {
    return this.#state === "lost" || this.#state === "closed";
  }

  /** Nothing can mend it any more: the next timer or frame judges the lease before anything else. */
  get #ranOut(): boolean {
    return this.#lease.provenAtMs !== -Infinity && this.#runtime.nowMs() >= this.#lease.endMs();
  }

  // ---- sending

  #dispatch<K extends OpName>(
    op: K,
    request: RequestOf<K>,
    settle: Settle<ResponseOf<K>>,
    awaited: boolean,
  ): void {
    let body: Buffer;
    try {
      body = encodeRequest(op, request);
      if (body.length + 8 > maxRequestBytes) {
        // The server would close the connection without a word, under all the other requests too.
        throw new InvalidArgumentError(
          `${op} of ${body.length + 8} bytes is over the ${maxRequestBytes} that a ZooKeeper server accepts`,
        );
      }
    } catch (error) {
      if (awaited) this.#awaited -= 1;
      throw error;
    }
    const path = (request as { readonly path?: unknown } | undefined)?.path;
    const sent = this.#lease.stamp();
    this.#activity.sent(sent, this.#link.timeoutMs);
    const where = typeof path === "string" ? path : undefined;
    const tracked = this.#leftovers?.track(op, request, settle) ?? settle;
    const call = new Call(this.#callDesk, op, where, sent, tracked, awaited);
    this.#proofs.sent(op, sent.atMs);
    this.#link.send(opCodes[op], body, call);
    this.#watchdog.sent(sent.atMs);
  }

  #sendProof(settle: Settle<void>): void {
    const done = (outcome: Outcome<unknown>): void =>
      settle(outcome.ok ? { ok: true, value: undefined, zxid: outcome.zxid } : outcome);
    if (this.#proofs.quorum) this.#dispatch("multi", { ops: [] }, done, false);
    else this.#dispatch("sync", { path: "/" }, done, false);
  }

  #refuse<T>(settle: Settle<T>, error: RequestError): void {
    queueMicrotask(() => settle({ ok: false, error }));
  }

  #makeCallDesk(): CallDesk {
    const session = this;
    return {
      get over() {
        return session.#over;
      },
      answered: (call, header) => session.#answered(call, header),
      garbled: (error: ProtocolError) => session.#link.cut(`an answer that makes no sense: ${error.message}`),
      settled: (call, outcome) => session.#settled(call, outcome),
    };
  }

  #answered(call: Call<OpName>, header: ReplyHeader): void {
    this.#restorer.saw(header.zxid);
    if (!this.#proofs.answered(call.op, header) || this.#over) return;
    const counted = this.#activity.countedBy(call.sent, this.#link.timeoutMs);
    if (counted === null) return;
    this.#lease.prove(counted, this.#link.timeoutMs, call.sent);
    this.#reconsider();
  }

  #settled(call: Call<OpName>, outcome: string): void {
    if (call.awaited) this.#awaited -= 1;
    const report = this.#onRequestSettled;
    if (report === undefined) return;
    const tookMs = this.#runtime.nowMs() - call.sentAtMs;
    guarded(() => report({ op: call.op, tookMs, outcome }));
  }

  // ---- watches

  #makeWatchDesk(): WatchDesk {
    const session = this;
    return {
      watches: this.#watches,
      get up() {
        return session.#link.up && !session.#over;
      },
      sendRead: (op, path, settle) => session.send(op, { path, watch: true } as RequestOf<typeof op>, settle),
      // NoWatcher says that it has fired meanwhile; a connection that ended took the watch along.
      removeWatches: (path, type) => session.#dispatch("removeWatches", { path, type }, () => {}, false),
      idle: () => this.#watchdog.sent(this.#runtime.nowMs()),
      watchedByOthers: (path: string, table: WatchTable) =>
        !session.#owned && session.#link.library.watchesPath(path, table),
    };
  }

  #makeRestorer(): WatchRestorer {
    const desk: RestoreDesk = {
      setWatches: (piece, settle) => this.#dispatch("setWatches", piece, settle, false),
      failed: (error) => {
        if (this.#link.up) this.#link.cut(`watches were not restored: ${error.message}`);
      },
    };
    return new WatchRestorer(desk, this.#link.lastZxid);
  }

  // ---- the link

  #listener(): LinkListener {
    return {
      dialling: () => this.#watchdog.check(),
      greeting: () => {
        this.#greetingSent = this.#lease.stamp();
        this.#greetingAsksForNew = this.#link.sessionId === 0n;
      },
      received: () => this.#watchdog.received(),
      greeted: () => this.#greeted(),
      up: () => {
        this.#refusals = 0;
        this.#reconsider();
        this.#watchdog.check();
      },
      event: (event: WatcherEvent) => {
        if (!this.#over) this.#watches.fire(event);
      },
      expired: () => this.#lose("expired", new Error("the server does not know the session any more")),
      authFailed: (cause) => this.#lose("auth", cause),
      broken: () => this.#suspend(),
      down: (cause, wasUp) => this.#down(cause, wasUp),
      over: () => this.#lose("expired", new Error("the client was closed")),
    };
  }

  #greeted(): void {
    this.#connection += 1;
    // A leader that lost its quorum without noticing greets an old session all the same, but cannot make a new one.
    const proves = this.#greetingSent !== null && (!this.#proofs.quorum || this.#greetingAsksForNew);
    this.#activity.restart(this.#greetingSent);
    if (this.#greetingSent === null) this.#takeUpAnew();
    if (proves) this.#lease.prove(this.#greetingSent as Stamp, this.#link.timeoutMs);
    else this.#lease.shorten(this.#link.timeoutMs);
    // Before anything else on a new connection, so that `connected` finds every watch in its place.
    const own = this.#watches.armedPaths();
    this.#restorer.restore(this.#owned ? own : merge(own, this.#link.library.watches()));
  }

  /**
   * Nobody saw the handshake of this connection being sent, so nobody knows what of it the leader has counted: one of our
   * own tells. What the owner of the client has in flight is answered first.
   */
  #takeUpAnew(): void {
    this.#sendProof(() => this.#link.cut("the client was adopted, and its session is taken up anew"));
  }

  #down(cause: Error | null, wasUp: boolean): void {
    this.#restorer.reset();
    this.#proofs.reset();
    this.#greetingSent = null;
    if (cause !== null) this.#lastCause = cause;
    const refused = !wasUp && cause !== null && "code" in cause;
    this.#refusals = refused ? this.#refusals + 1 : 0;
    this.#suspend();
    this.#waiters.attemptFailed();
    this.#watchdog.check();
  }

  // ---- states

  /** Connected is: a connection with accepted credentials and watches in place, and a lease that was proven of late. */
  #reconsider(): void {
    if (this.#over || this.#state === "connected" || !this.#link.up || !this.#link.authenticated) return;
    const now = this.#runtime.nowMs();
    if (now - this.#lease.provenAtMs >= (this.#link.timeoutMs * 2) / 3 || this.#lease.untilMs() <= now)
      return;
    this.#setState("connected");
    this.#waiters.connected();
  }

  #setState(state: SessionState | "closed"): void {
    if (this.#state === state || this.#over) return;
    this.#state = state;
    for (const listener of [...this.#stateListeners]) guarded(() => listener(state));
  }

  #suspend(): void {
    if (this.#state === "connected") this.#setState("suspended");
  }

  #lose(reason: SessionLossReason, cause: unknown): void {
    if (this.#over) return;
    this.#lossReason = reason;
    this.#end("lost", cause);
    if (this.#leftovers === null) {
      this.#farewell = new Farewell(this.#link, this.#runtime, this.#link.timeoutMs, false);
    } else {
      void this.#letGo(this.#leftovers);
    }
  }

  async #close(waitMs: Millis): Promise<void> {
    const leftovers = this.#leftovers;
    if (leftovers === null) {
      if (this.#over) return this.#farewell?.within(waitMs);
      const met = this.#connection > 0;
      this.#end("closed", undefined);
      this.#farewell = new Farewell(this.#link, this.#runtime, met ? waitMs : 0, true);
      return this.#farewell.done;
    }
    if (!this.#over) {
      this.#end("closed", undefined);
      void this.#letGo(leftovers);
    }
    const cancel = this.#runtime.setTimer(waitMs, () => leftovers.giveUp(), { ref: true });
    await leftovers.done;
    cancel();
  }

  /** The client is the user's again as soon as nothing of ours is left in its session. */
  async #letGo(leftovers: Leftovers): Promise<void> {
    leftovers.clear(this.#link, this.#runtime.nowMs());
    await leftovers.done;
    this.#released?.();
  }

  #end(state: "lost" | "closed", cause: unknown): void {
    this.#lostCause = cause;
    this.#lease.end();
    this.#watchdog.stop();
    this.#watches.clear();
    this.#setState(state);
    const lost = new SessionLostError("whenConnected", { cause });
    this.#waiters.reject(lost);
    // Nobody may wait for an answer that a dead session can get. On close, what is in flight is answered first.
    if (state === "closed" && this.#owned) return;
    for (const sent of this.#link.pending.contents()) {
      if (sent instanceof SentPacket && sent.packet instanceof Call) {
        const call = sent.packet;
        guarded(() => call.lose(cause));
      }
    }
  }

  // ---- what the watchdog asks for

  #guarded(): Guarded {
    const session = this;
    return {
      get proofsInFlight() {
        return session.#proofs.inFlight;
      },
      get proofSentAtMs() {
        return session.#proofs.sentAtMs;
      },
      serverCount: this.servers.length,
      suspend: () => session.#suspend(),
      expire: () => session.#lose("lease", new Error("the lease ran out without an answer of the server")),
      prove: () => session.#sendProof(() => {}),
      rest: () => session.#rest(),
    };
  }

  #attempts(): Attempts {
    const session = this;
    return {
      servers: this.servers,
      get lastCause() {
        return session.#lastCause;
      },
      get refused() {
        return session.#refusals >= session.servers.length;
      },
    };
  }

  #holdProcess(): void {
    if (this.#held) return;
    this.#held = true;
    this.#link.hold(true);
  }

  /** A process with nothing in flight, watched or waited for may exit by itself with the session open. */
  #rest(): void {
    const needed = this.#awaited > 0 || this.#watches.size > 0 || this.#waiters.size > 0;
    if (needed || !this.#held) return;
    this.#held = false;
    this.#link.hold(false);
  }
}

function merge<T extends { readonly [K in "data" | "exist" | "child"]: readonly string[] }>(
  a: T,
  b: T,
): { data: string[]; exist: string[]; child: string[] } {
  const union = (name: "data" | "exist" | "child"): string[] => [...new Set([...a[name], ...b[name]])];
  return { data: union("data"), exist: union("exist"), child: union("child") };
}
