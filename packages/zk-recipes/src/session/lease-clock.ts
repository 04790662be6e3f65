import type { Millis, Runtime } from "@holdfast/core";
import { errorCodes, isWrite, type OpName, type ReplyHeader } from "@holdfast/zk-protocol";

/** A moment on both clocks. */
export interface Stamp {
  /** Monotonic. */
  readonly atMs: Millis;
  readonly wallMs: Millis;
}

const leastMarginMs: Millis = 100;
const marginShare = 0.02;

/** How far the wall clock may run ahead of the monotonic one before we take it that the machine was suspended. */
const suspiciousDriftMs: Millis = 100;

/**
 * Knows until when the server keeps the session.
 *
 * Fed by what passed through the leader only (writes, `sync`, handshakes): a ping or a read may have been answered by a
 * follower that was cut off seconds ago, while the leader has given our nodes away. Counted from when the activity was
 * *sent* that the leader has counted by then (see `Activity`): the leader starts its own count later, never earlier.
 */
export class LeaseClock {
  readonly #runtime: Runtime;
  /** The activity that counts. */
  #proof: Stamp | null = null;
  /** When the proof of it was sent. */
  #provedBy: Stamp | null = null;
  #timeoutMs: Millis = 0;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  stamp(): Stamp {
    return { atMs: this.#runtime.nowMs(), wallMs: this.#runtime.wallMs() };
  }

  /** The time-out as granted in the last handshake that counted, 0 before. */
  get timeoutMs(): Millis {
    return this.#timeoutMs;
  }

  /** When the activity was sent that counts; `-Infinity` before there was one. */
  get provenAtMs(): Millis {
    return this.#proof?.atMs ?? -Infinity;
  }

  /**
   * The leader has counted what was sent at `counted`, by the answer to what was sent at `provedBy`. An older activity than
   * the present one changes nothing.
   */
  prove(counted: Stamp, timeoutMs: Millis, provedBy: Stamp = counted): void {
    if (this.#provedBy === null || provedBy.atMs > this.#provedBy.atMs) this.#provedBy = provedBy;
    if (this.#proof !== null && counted.atMs < this.#proof.atMs) return;
    this.#proof = counted;
    this.#timeoutMs = timeoutMs;
  }

  /** A handshake changed the time-out without proving anything: what is shorter counts. */
  shorten(timeoutMs: Millis): void {
    if (this.#proof !== null) this.#timeoutMs = Math.min(this.#timeoutMs, timeoutMs);
  }

  end(): void {
    this.#proof = null;
    this.#provedBy = null;
  }

  /** The end of the lease by the monotonic clock alone. `-Infinity` without a proof. */
  endMs(): Millis {
    return this.#proof === null ? -Infinity : this.#proof.atMs + this.#timeoutMs - this.#marginMs();
  }

  /**
   * What may be promised: nothing while `slept`, then `endMs()` less what was slept since the activity that counts. The
   * monotonic clock stands still while a machine sleeps and the server's does not. A wall clock that was set forward looks the
   * same, so that this never ends anything: `endMs()` and the server's answers do.
   */
  untilMs(): Millis {
    return this.slept ? -Infinity : this.endMs() - this.#sleepSince(this.#proof);
  }

  /** The machine seems to have slept since the last proof was sent: nothing is sure until the next is answered. */
  get slept(): boolean {
    return this.#sleepSince(this.#provedBy) > 0;
  }

  /** 0 for what may be clock adjustment. */
  #sleepSince(stamp: Stamp | null): Millis {
    if (stamp === null) return 0;
    const passedMs = this.#runtime.wallMs() - stamp.wallMs;
    // Read for every look at a hold: most of them need no second clock.
    if (passedMs <= suspiciousDriftMs) return 0;
    const driftMs = passedMs - (this.#runtime.nowMs() - stamp.atMs);
    return driftMs > suspiciousDriftMs ? driftMs : 0;
  }

  /** The server may end the session right at the time-out, and our timers are late. Half of a short time-out: the session must outlive its handshake. */
  #marginMs(): Millis {
    return Math.min(Math.max(leastMarginMs, this.#timeoutMs * marginShare), this.#timeoutMs / 2);
  }
}

/**
 * Answers that the leader's pipeline must have made. Others (a throttled or malformed request) may come from a server that
 * knows nothing of the session's end.
 */
const leaderCodes: ReadonlySet<number> = new Set([
  errorCodes.Ok,
  errorCodes.NoNode,
  errorCodes.NoAuth,
  errorCodes.BadVersion,
  errorCodes.NoChildrenForEphemerals,
  errorCodes.NodeExists,
  errorCodes.NotEmpty,
]);

/**
 * Which requests prove that the session lives at the leader, and which of them are on their way. With `quorum`, a leader's own
 * word is not enough: one that lost its followers a moment ago goes on answering `sync` and greeting old sessions by itself.
 */
export class Proofs {
  readonly quorum: boolean;
  #inFlight = 0;
  #sentAtMs: Millis = -Infinity;

  constructor(quorum: boolean) {
    this.quorum = quorum;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** When the last one left, answered or not. */
  get sentAtMs(): Millis {
    return this.#sentAtMs;
  }

  sent(op: OpName, atMs: Millis): void {
    if (!isProof(op)) return;
    this.#inFlight += 1;
    this.#sentAtMs = atMs;
  }

  /** Whether this answer proves the lease. */
  answered(op: OpName, header: ReplyHeader): boolean {
    if (!isProof(op)) return false;
    this.#inFlight -= 1;
    return op === "sync" ? !this.quorum && header.err === errorCodes.Ok : leaderCodes.has(header.err);
  }

  /** The connection ended; nothing more comes of what was on its way. */
  reset(): void {
    this.#inFlight = 0;
  }
}

function isProof(op: OpName): boolean {
  return op === "sync" || isWrite(op);
}

/**
 * A leader hears of the activity of its followers' sessions in the answers to its own pings, each half tick. Servers grant
 * sessions of two ticks and more, so that is a quarter of the session time-out at most.
 */
const reportShare = 1 / 4;

/** Stamps closer together than this share of the time-out are not worth keeping apart. */
const grainShare = 1 / 64;

/**
 * When requests were sent on the present connection, to find what an answered proof proves.
 *
 * A follower hands a request on to its leader without touching the session there: the leader counts on from what the
 * follower last reported. An answer that passed through the leader proves that every report before it has arrived, and
 * with it the activity up to one report's time before the request was sent; not the request itself.
 */
export class Activity {
  #sent: Stamp[] = [];

  /** A new connection. `greeting`: when its handshake was sent, which counts like a request. */
  restart(greeting: Stamp | null): void {
    this.#sent = greeting === null ? [] : [greeting];
  }

  sent(stamp: Stamp, timeoutMs: Millis): void {
    const last = this.#sent.at(-1);
    if (last === undefined || stamp.atMs - last.atMs >= timeoutMs * grainShare) this.#sent.push(stamp);
  }

  /** The last activity that the leader has counted for certain, once a proof sent at `proof` is answered; `null` for none. */
  countedBy(proof: Stamp, timeoutMs: Millis): Stamp | null {
    const limitMs = proof.atMs - timeoutMs * reportShare;
    const next = this.#sent.findIndex((stamp) => stamp.atMs > limitMs);
    const last = (next < 0 ? this.#sent.length : next) - 1;
    if (last < 0) return null;
    this.#sent.splice(0, last);
    return this.#sent[0] as Stamp;
  }
}
