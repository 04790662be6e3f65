import type { SessionState } from "@holdfast/core";
import {
  errorCodes,
  type OpName,
  type RequestOf,
  type ResponseOf,
  type Stat,
  type WatchEventType,
  ZooKeeperError,
} from "@holdfast/zk-protocol";
import { NotConnectedError, OutcomeUnknownError, SessionLostError } from "../../../src/session/errors.js";
import type {
  Outcome,
  SessionLossReason,
  Settle,
  UnreadWatch,
  WatchHandle,
  WatchListener,
  ZooKeeperSession,
} from "../../../src/session/types.js";

/** A request that the test has not answered yet. */
export interface Sent {
  readonly op: OpName;
  readonly path: string;
  readonly watch: boolean;
  readonly request: unknown;
  /** Requests with the same number left in one write. They were made in one turn of the event loop. */
  readonly write: number;
  readonly settle: (outcome: Outcome<never>) => void;
}

interface Watch {
  readonly path: string;
  readonly listener: WatchListener<never>;
}

/**
 * A session for which the test plays the server. The test can answer, order and withhold as no real server does on demand.
 * Frames are handled synchronously, one after the other, as the real session handles them.
 */
export class ScriptedSession implements ZooKeeperSession {
  state: SessionState | "closed" = "connected";
  id = 0x10n;
  timeoutMs = 6_000;
  connection = 1;
  servers: readonly string[] = ["127.0.0.1:1"];
  lossReason: SessionLossReason | null = null;
  leaseUntil = Number.MAX_SAFE_INTEGER;
  asleep = false;
  behind = false;
  heardAtMs = 0;
  lastZxid = 0n;
  readonly sent: Sent[] = [];
  #write = 0;
  #writing = false;
  readonly #watches = new Set<Watch>();
  readonly #stateListeners = new Set<(state: SessionState | "closed") => void>();
  readonly #breakListeners = new Set<() => void>();

  leaseUntilMs(): number {
    return this.asleep ? Number.NEGATIVE_INFINITY : this.leaseUntil;
  }

  leaseEndMs(): number {
    return this.leaseUntil;
  }

  send<K extends OpName>(op: K, request: RequestOf<K>, settle: Settle<ResponseOf<K>>): void {
    const path = (request as { path?: string } | undefined)?.path ?? "";
    this.#record(op, path, false, settle as Settle<never>, request);
  }

  request<K extends OpName>(op: K, request: RequestOf<K>): Promise<ResponseOf<K>> {
    return new Promise((resolve, reject) => {
      this.send(op, request, (outcome) => (outcome.ok ? resolve(outcome.value) : reject(outcome.error)));
    });
  }

  watchData(path: string, listener: WatchListener<ResponseOf<"getData">>): WatchHandle {
    return this.#watchBy("getData", path, listener as unknown as WatchListener<never>);
  }

  /** The watches are set from the start. Fire the events that the request itself would find before its answer. */
  watchUnread(unread: readonly UnreadWatch[], relativeZxid: bigint): WatchHandle[] {
    const watches = unread.map(({ path, listener }) => ({
      path,
      listener: listener as unknown as WatchListener<never>,
    }));
    const request = {
      relativeZxid,
      dataWatches: unread.map(({ path }) => path),
      existWatches: [],
      childWatches: [],
    };
    const settle: Settle<never> = (outcome) => {
      for (const watch of watches) {
        if (!this.#watches.has(watch)) continue;
        if (!outcome.ok) this.#watches.delete(watch);
        watch.listener.answered(outcome.ok ? { ...outcome, value: null as never } : outcome);
      }
    };
    for (const watch of watches) this.#watches.add(watch);
    this.#record("setWatches", "", false, settle, request);
    return watches.map((watch) => {
      const drop = () => void this.#watches.delete(watch);
      return { drop, remove: drop };
    });
  }

  watchChildren(path: string, listener: WatchListener<ResponseOf<"getChildren2">>): WatchHandle {
    return this.#watchBy("getChildren2", path, listener as unknown as WatchListener<never>);
  }

  /** Answer `null` for a node that does not exist. The watch is set all the same. */
  watchExists(path: string, listener: WatchListener<ResponseOf<"exists"> | null>): WatchHandle {
    return this.#watchBy("exists", path, listener as unknown as WatchListener<never>);
  }

  #watchBy(op: OpName, path: string, listener: WatchListener<never>): WatchHandle {
    const watch: Watch = { path, listener };
    let dropped = false;
    this.#record(op, path, true, (outcome) => {
      if (outcome.ok && !dropped) this.#watches.add(watch);
      watch.listener.answered(outcome);
    });
    const drop = () => {
      dropped = true;
      this.#watches.delete(watch);
    };
    return { drop, remove: drop };
  }

  prove(settle: Settle<void> = () => {}): void {
    this.send("sync", { path: "/" }, (outcome) =>
      settle(outcome.ok ? { ...outcome, value: undefined } : outcome),
    );
  }

  onBroken(listener: () => void): () => void {
    this.#breakListeners.add(listener);
    return () => this.#breakListeners.delete(listener);
  }

  onState(listener: (state: SessionState | "closed") => void): () => void {
    this.#stateListeners.add(listener);
    return () => this.#stateListeners.delete(listener);
  }

  async whenConnected(): Promise<void> {
    if (this.state !== "connected") throw new SessionLostError("connect");
  }

  async close(): Promise<void> {
    this.become("closed");
  }

  // ---- what the test does as the server

  /** The oldest unanswered request of this `op` whose path ends with `pathEnd`. */
  pending(op: OpName, pathEnd = ""): Sent {
    const found = this.sent.find((sent) => sent.op === op && sent.path.endsWith(pathEnd));
    if (found === undefined) {
      const all = this.sent.map((sent) => `${sent.op} ${sent.path}`).join(", ");
      throw new Error(`no unanswered ${op} ${pathEnd}; there are: ${all || "none"}`);
    }
    return found;
  }

  has(op: OpName, pathEnd = ""): boolean {
    return this.sent.some((sent) => sent.op === op && sent.path.endsWith(pathEnd));
  }

  answer(sent: Sent, value: unknown, zxid = 1n): void {
    this.#take(sent).settle({ ok: true, value: value as never, zxid });
  }

  refuse(sent: Sent, code: number): void {
    this.#take(sent).settle({ ok: false, error: new ZooKeeperError(code, { op: sent.op, path: sent.path }) });
  }

  noNode(sent: Sent): void {
    this.refuse(sent, errorCodes.NoNode);
  }

  fire(pathEnd: string, type: WatchEventType): void {
    const fired = [...this.#watches].filter((watch) => watch.path.endsWith(pathEnd));
    for (const watch of fired) {
      this.#watches.delete(watch);
      watch.listener.fired(type);
    }
  }

  watched(pathEnd: string): boolean {
    return [...this.#watches].some((watch) => watch.path.endsWith(pathEnd));
  }

  /** The connection breaks. The outcome of every request that was sent is unknown. */
  cut(): void {
    const open = this.sent.splice(0);
    this.become("suspended");
    this.dialInVain();
    for (const sent of open) sent.settle({ ok: false, error: new OutcomeUnknownError(sent.op) });
  }

  /** An attempt to connect fails. */
  dialInVain(): void {
    for (const listener of [...this.#breakListeners]) listener();
  }

  mend(): void {
    this.connection++;
    this.become("connected");
  }

  lose(reason: SessionLossReason): void {
    const open = this.sent.splice(0);
    this.lossReason = reason;
    this.leaseUntil = Number.NEGATIVE_INFINITY;
    this.become("lost");
    for (const sent of open) sent.settle({ ok: false, error: new SessionLostError(sent.op) });
  }

  become(state: SessionState | "closed"): void {
    this.state = state;
    if (state === "lost" || state === "closed") this.#watches.clear();
    for (const listener of [...this.#stateListeners]) listener(state);
  }

  #record(
    op: OpName,
    path: string,
    watch: boolean,
    settle: Settle<never>,
    request: unknown = undefined,
  ): void {
    if (this.state === "connected") {
      if (!this.#writing) process.nextTick(() => this.#flush());
      this.#writing = true;
      this.sent.push({ op, path, watch, request, write: this.#write, settle });
      return;
    }
    const error = this.state === "lost" ? new SessionLostError(op) : new NotConnectedError(op);
    queueMicrotask(() => settle({ ok: false, error }));
  }

  #flush(): void {
    this.#writing = false;
    this.#write++;
  }

  #take(sent: Sent): Sent {
    this.sent.splice(this.sent.indexOf(sent), 1);
    return sent;
  }
}

/** A Stat with the fields that the recipes read. */
export function stat(czxid: bigint, ephemeralOwner: bigint): Stat {
  return {
    czxid,
    mzxid: czxid,
    ctime: 0n,
    mtime: 0n,
    version: 0,
    cversion: 0,
    aversion: 0,
    ephemeralOwner,
    dataLength: 0,
    numChildren: 0,
    pzxid: czxid,
  };
}
