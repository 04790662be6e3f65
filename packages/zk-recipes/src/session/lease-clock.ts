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

/** If the wall clock runs ahead of the monotonic clock by more than this, we take it that the machine was suspended. */
const suspiciousDriftMs: Millis = 100;

/**
 * Knows until when the server keeps the session.
 *
 * Only what passed through the leader counts here (writes, `sync`, handshakes). A ping or a read may have been answered
 * by a follower that was cut off seconds ago, while the leader has given our nodes away.
 *
 * The lease is counted from when an activity was *sent* that the leader has counted for certain (see `Activity`): the
 * leader starts its own count later, never earlier.
 */
export class LeaseClock {
  readonly #runtime: Runtime;
  /** The latest activity that the leader has counted for certain. */
  #proof: Stamp | null = null;
  /** When the proof was sent whose answer has shown that. */
  #provedBy: Stamp | null = null;
  #timeoutMs: Millis = 0;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  stamp(): Stamp {
    return { atMs: this.#runtime.nowMs(), wallMs: this.#runtime.wallMs() };
  }

  /** The time-out as granted in the last handshake that counted; 0 before that. */
  get timeoutMs(): Millis {
    return this.#timeoutMs;
  }

  /** When the activity that counts was sent; `-Infinity` if there was none. */
  get provenAtMs(): Millis {
    return this.#proof?.atMs ?? -Infinity;
  }

  /**
   * The leader has counted an activity that was sent at `counted`; the answer to a proof that was sent at `provedBy`
   * shows it. An activity older than the present one changes nothing, and no answer revives a lease that has run out: what
   * was asked meanwhile was answered as by a lost session.
   */
  prove(counted: Stamp, timeoutMs: Millis, provedBy: Stamp = counted): void {
    if (this.ranOut) return;
    if (this.#provedBy === null || provedBy.atMs > this.#provedBy.atMs) this.#provedBy = provedBy;
    if (this.#proof !== null && counted.atMs < this.#proof.atMs) return;
    this.#proof = counted;
    this.#timeoutMs = timeoutMs;
  }

  /** A handshake changed the time-out without proving anything: the shorter time-out counts. */
  shorten(timeoutMs: Millis): void {
    if (this.#proof !== null) this.#timeoutMs = Math.min(this.#timeoutMs, timeoutMs);
  }

  end(): void {
    this.#proof = null;
    this.#provedBy = null;
  }

  /** Whether there was a proof, and the lease has run out since. */
  get ranOut(): boolean {
    return this.#proof !== null && this.#runtime.nowMs() >= this.endMs();
  }

  /** The end of the lease by the monotonic clock alone. `-Infinity` without a proof. */
  endMs(): Millis {
    return this.#proof === null ? -Infinity : this.#proof.atMs + this.#timeoutMs - this.#marginMs();
  }

  /**
   * Until when the session may be relied on: no time at all while `slept`, otherwise `endMs()` less the time slept since
   * the activity that counts. While a machine sleeps its monotonic clock stands still, and the server's clock does not. A
   * wall clock that was set forward looks the same. So this time never ends anything: only `endMs()` and the server's
   * answers do.
   */
  untilMs(): Millis {
    return this.slept ? -Infinity : this.endMs() - this.#sleepSince(this.#proof);
  }

  /**
   * Whether the machine seems to have slept since the last proof was sent. Nothing is sure then until the next proof is
   * answered.
   */
  get slept(): boolean {
    return this.#sleepSince(this.#provedBy) > 0;
  }

  /** How long the machine seems to have slept since `stamp`. 0 for a drift so small that the clock may have been adjusted. */
  #sleepSince(stamp: Stamp | null): Millis {
    if (stamp === null) return 0;
    const passedMs = this.#runtime.wallMs() - stamp.wallMs;
    // This is read for every look at a hold. Most looks end here, and need no second clock.
    if (passedMs <= suspiciousDriftMs) return 0;
    const driftMs = passedMs - (this.#runtime.nowMs() - stamp.atMs);
    return driftMs > suspiciousDriftMs ? driftMs : 0;
  }

  /**
   * The margin that the lease ends earlier here: the server may end the session right at the time-out, and our timers are
   * late. It is at most half of the time-out, because a session with a short one must outlive its handshake.
   */
  #marginMs(): Millis {
    return Math.min(Math.max(leastMarginMs, this.#timeoutMs * marginShare), this.#timeoutMs / 2);
  }
}

/**
 * Answers that the leader's pipeline must have made. Other answers (to a throttled or malformed request) may come from a
 * server that does not know that the session has ended.
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
 * Which requests prove that the session lives at the leader, and when they were sent and answered. With `quorum` the
 * word of a leader alone is not enough: a leader that lost its followers a moment ago goes on answering `sync` and
 * greeting old sessions by itself.
 */
export class Proofs {
  readonly quorum: boolean;
  #sentAtMs: Millis = -Infinity;
  #answeredAtMs: Millis = -Infinity;

  constructor(quorum: boolean) {
    this.quorum = quorum;
  }

  /** When the last proof left, answered or not. */
  get sentAtMs(): Millis {
    return this.#sentAtMs;
  }

  /** When the last answer to a proof came. */
  get answeredAtMs(): Millis {
    return this.#answeredAtMs;
  }

  sent(op: OpName, atMs: Millis): void {
    if (isProof(op)) this.#sentAtMs = atMs;
  }

  /** Whether this answer, which came at `atMs`, proves the lease. */
  answered(op: OpName, header: ReplyHeader, atMs: Millis): boolean {
    if (!isProof(op)) return false;
    this.#answeredAtMs = atMs;
    return op === "sync" ? !this.quorum && header.err === errorCodes.Ok : leaderCodes.has(header.err);
  }

  /** A new connection begins. Its handshake counts as a proof that was sent and answered at `atMs`. */
  greeted(atMs: Millis): void {
    this.#sentAtMs = atMs;
    this.#answeredAtMs = atMs;
  }
}

function isProof(op: OpName): boolean {
  return op === "sync" || isWrite(op);
}

/**
 * A leader learns of the activity of its followers' sessions from the answers to its own pings, which it sends each half
 * tick. Servers grant sessions of two ticks or more, so half a tick is at most a quarter of the session time-out.
 */
const reportShare = 1 / 4;

/** Sendings that are closer together than this share of the time-out are kept as one. */
const grainShare = 1 / 64;

interface Sending {
  readonly stamp: Stamp;
  /** When an answer came that shows that the server had it; `Infinity` before that. */
  answeredAtMs: Millis;
}

/**
 * When requests were sent on the present connection, and when they were answered. This shows what an answered proof
 * proves.
 *
 * A follower hands a request on to its leader without touching the session there. The leader counts from the follower's
 * last report. An answer that passed through the leader proves that every report before it has arrived. So it proves the
 * activity that was *answered* one report interval before the proof was sent, and not the proof itself.
 *
 * Activity that was only sent so long before does not count: the way to the follower may have stood still, and both may
 * have reached it together, with no report between them. Answers come in order. So an answer shows that the server has had
 * everything that was sent before its request, too.
 */
export class Activity {
  #sent: Sending[] = [];
  /** How many of them were answered. These come first. */
  #answered = 0;

  /** A new connection begins. `greeting`: when its handshake was sent, which counts like a request. */
  restart(greeting: Stamp | null, answeredAtMs: Millis): void {
    this.#sent = greeting === null ? [] : [{ stamp: greeting, answeredAtMs }];
    this.#answered = this.#sent.length;
  }

  sent(stamp: Stamp, timeoutMs: Millis): void {
    const last = this.#sent.at(-1)?.stamp;
    if (last !== undefined && stamp.atMs - last.atMs < timeoutMs * grainShare) return;
    this.#sent.push({ stamp, answeredAtMs: Infinity });
  }

  /** At `atMs` the answer came to a request that was sent at `sentAtMs`. */
  answered(sentAtMs: Millis, atMs: Millis): void {
    for (;;) {
      const next = this.#sent[this.#answered];
      if (next === undefined || next.stamp.atMs > sentAtMs) return;
      next.answeredAtMs = atMs;
      this.#answered += 1;
    }
  }

  /**
   * The last activity that the leader has counted for certain, once a proof that was sent at `proof` is answered. `null`
   * if there is none.
   */
  countedBy(proof: Stamp, timeoutMs: Millis): Stamp | null {
    const limitMs = proof.atMs - timeoutMs * reportShare;
    let counted = 0;
    while ((this.#sent[counted]?.answeredAtMs ?? Infinity) <= limitMs) counted += 1;
    if (counted === 0) return null;
    if (counted > 1) this.#sent.splice(0, counted - 1);
    this.#answered -= counted - 1;
    return (this.#sent[0] as Sending).stamp;
  }

  /** From when on a proof can count more than what was sent at `countedMs`; `Infinity` if that is not known. */
  countsMoreFromMs(countedMs: Millis, timeoutMs: Millis): Millis {
    const next = this.#sent.find(({ stamp }) => stamp.atMs > countedMs);
    return (next?.answeredAtMs ?? Infinity) + timeoutMs * reportShare;
  }
}
