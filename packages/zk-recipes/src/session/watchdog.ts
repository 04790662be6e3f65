import type { Millis, Runtime } from "@holdfast/core";
import type { Link } from "../client/link.js";
import { Packet } from "../client/pending-queue.js";
import type { LeaseClock } from "./lease-clock.js";

/** After this long without an answer to a request a ping is sent, and then again at doubling intervals. */
const nudgeAfterMs: Millis = 100;
const leastAttemptMs: Millis = 200;
/**
 * The first limit of a handshake, where its share of the time-out is longer. Each server in a row that does not answer
 * doubles it.
 */
const firstAttemptMs: Millis = 3_000;
const leastTickMs: Millis = 5;
/** A timer this late, or bytes handled this long after the timer was due, show that the event loop was blocked. */
const blockedMs: Millis = 100;
/** The most keep-alives that are on their way at a time. */
const mostProofs = 3;

/** What the watchdog needs of its session, and what it makes the session do. */
export interface Guarded {
  /** See `Proofs`. */
  readonly proofSentAtMs: Millis;
  readonly proofAnsweredAtMs: Millis;
  /** From when on a keep-alive can show that the leader has counted more; `Infinity` if that is not known. */
  readonly countsMoreFromMs: Millis;
  readonly serverCount: number;
  suspend(): void;
  /** The lease has run out. */
  expire(): void;
  /** Sends a keep-alive. `settled` is called once, with its answer or with the end of the connection. */
  prove(settled: () => void): void;
  /** Called at each tick: the moment to release the process when the session is idle. */
  rest(): void;
}

/**
 * One coarse timer for everything that depends on time: keep-alives, silent servers, handshakes without an answer,
 * withheld answers, and the end of the lease. The library below has no read time-out at all: it takes a dead server for a
 * quiet one.
 *
 * Times are shares of the session time-out T. A keep-alive is sent T/4 after the last proof was answered, because it
 * counts what was answered that long before it. If each answer takes a time L, the activity that counts is up to T/2 + 3L
 * old. While a keep-alive has no answer, the next one follows after T/8, and so does a third. At 2T/3 after that activity,
 * the session promises nothing more and goes to the next server. That leaves a third to find a server that answers.
 *
 * Keep-alives wait for each other, and never for writes of the program. A write may be refused by an answer that proves
 * nothing, such as for a quota that is used up, and a program may try it again and again.
 */
export class Watchdog {
  readonly #session: Guarded;
  readonly #link: Link;
  readonly #lease: LeaseClock;
  readonly #runtime: Runtime;
  #cancel: (() => void) | null = null;
  #dueMs: Millis = Number.POSITIVE_INFINITY;
  /** Whether a request left since the last tick. */
  #sending = false;
  #stopped = false;
  /** When the last keep-alive was sent, and how many of them are on their way. */
  #keepAliveSentMs: Millis = Number.NEGATIVE_INFINITY;
  #keepAlives = 0;
  #lastBytesMs: Millis;
  #heard = false;
  /** When the event loop ran again after it was blocked. Silence before that is not the server's. */
  #resumedMs: Millis = Number.NEGATIVE_INFINITY;
  #head: unknown;
  #headSinceMs: Millis = 0;
  #nudgeMs: Millis = nudgeAfterMs;
  /** The number of attempts in a row that were given up because no handshake came. */
  #muteAttempts = 0;

  constructor(session: Guarded, link: Link, lease: LeaseClock, runtime: Runtime) {
    this.#session = session;
    this.#link = link;
    this.#lease = lease;
    this.#runtime = runtime;
    this.#lastBytesMs = runtime.nowMs();
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel?.();
    this.#cancel = null;
  }

  /** Bytes came. Judges the lease first: bytes that came too late must not count as news of a living session. */
  received(): void {
    const now = this.#runtime.nowMs();
    this.#noticeBlock(now);
    this.#lastBytesMs = now;
    this.#heard = true;
    if (this.#lease.ranOut) this.#session.expire();
  }

  /** When the last bytes came; `-Infinity` before the first ones. */
  get heardAtMs(): Millis {
    return this.#heard ? this.#lastBytesMs : Number.NEGATIVE_INFINITY;
  }

  /** A request left at `atMs`. From now on its answer is awaited. */
  sent(atMs: Millis): void {
    this.#sending = true;
    this.#arm(atMs + nudgeAfterMs);
  }

  /** Call it when something has changed that the next tick has to take into account. */
  check(): void {
    if (this.#stopped) return;
    const now = this.#runtime.nowMs();
    if (this.#lease.ranOut) {
      this.#session.expire();
      return;
    }
    // While requests are sent, this tick is near enough for the next request too, which then sets no timer.
    const beatMs = this.#sending ? now + nudgeAfterMs : Number.POSITIVE_INFINITY;
    if (this.#link.up) this.#muteAttempts = 0;
    const nextMs = this.#link.up ? this.#watchConnection(now) : this.#watchAttempt(now);
    this.#session.rest();
    const endMs = this.#lease.endMs();
    const lookMs = Math.min(nextMs, beatMs, endMs === -Infinity ? Number.POSITIVE_INFINITY : endMs);
    this.#arm(Math.max(now + leastTickMs, lookMs));
  }

  /**
   * Watches an attempt at a connection. A ZooKeeper server that is just starting may keep a connection open for good that
   * it will never answer, because it fails while it closes that connection. With a long session time-out, waiting its
   * whole share would waste that time.
   */
  #watchAttempt(now: Millis): Millis {
    const sinceMs = this.#link.attemptSinceMs;
    if (sinceMs === null) return now + this.#link.timeoutMs / 3;
    const shareMs = Math.max(leastAttemptMs, this.#link.timeoutMs / this.#session.serverCount / 2);
    const limitMs = Math.min(shareMs, firstAttemptMs * 2 ** this.#muteAttempts);
    const endMs = Math.max(sinceMs, this.#resumedMs) + limitMs;
    if (now < endMs) return endMs;
    this.#muteAttempts += 1;
    this.#link.cut(`no handshake within ${Math.round(limitMs)} ms`);
    return now + limitMs;
  }

  #watchConnection(now: Millis): Millis {
    const session = this.#session;
    const timeoutMs = this.#link.timeoutMs;
    const { provenAtMs } = this.#lease;
    const asleep = this.#lease.slept;
    const stale = now - provenAtMs >= (timeoutMs * 2) / 3;
    if (stale || asleep) session.suspend();
    if (!this.#link.up) return now; // a listener ended the connection
    let nextMs = stale ? now + timeoutMs / 12 : provenAtMs + (timeoutMs * 2) / 3;
    const dueMs = this.#proofDueMs(now, timeoutMs, asleep, stale);
    if (now >= dueMs) this.#keepAlive(now);
    else nextMs = Math.min(nextMs, dueMs);
    return this.#link.pending.length === 0
      ? nextMs
      : Math.min(nextMs, this.#watchAnswer(now, timeoutMs, stale));
  }

  #proofDueMs(now: Millis, timeoutMs: Millis, asleep: boolean, stale: boolean): Millis {
    const sentMs = this.#keepAliveSentMs;
    // A proof that failed is not repeated at once.
    if (this.#keepAlives === 0)
      return Math.max(asleep ? now : this.#keepAliveMs(timeoutMs, stale), sentMs + timeoutMs / 12);
    // The server is slow. If each proof waited for the answer to the one before, the lease would end between them.
    return this.#keepAlives < mostProofs ? sentMs + timeoutMs / 8 : Number.POSITIVE_INFINITY;
  }

  #keepAlive(now: Millis): void {
    this.#keepAliveSentMs = now;
    this.#keepAlives += 1;
    this.#session.prove(() => {
      this.#keepAlives -= 1;
    });
  }

  /** When the next keep-alive is due, where none is on its way. */
  #keepAliveMs(timeoutMs: Millis, stale: boolean): Millis {
    const { proofSentAtMs, proofAnsweredAtMs, countsMoreFromMs } = this.#session;
    const { provenAtMs } = this.#lease;
    return Math.min(
      proofAnsweredAtMs + timeoutMs / 4,
      // An answer that came late, such as after a block, shows little: its request was sent long ago.
      proofSentAtMs + timeoutMs / 2,
      // The last proof may have failed, or come too early to count more than the one before it. Where the lease is about to
      // end, no time is left for a write of the program to come instead.
      Math.max(provenAtMs + timeoutMs / 2, countsMoreFromMs + (stale ? 0 : timeoutMs / 12)),
    );
  }

  /** Watches the oldest unanswered request: answers come in order, so no other request is answered before it. */
  #watchAnswer(now: Millis, timeoutMs: Millis, stale: boolean): Millis {
    const head = this.#link.pending.peek();
    if (head !== this.#head) {
      this.#head = head;
      this.#headSinceMs = head instanceof Packet ? head.sentAtMs : now;
      this.#nudgeMs = nudgeAfterMs;
    }
    const heardMs = Math.max(this.#lastBytesMs, this.#resumedMs);
    const waitedMs = now - Math.max(this.#headSinceMs, this.#resumedMs);
    const silent = now - heardMs >= (timeoutMs * 2) / 3 && waitedMs >= timeoutMs / 4;
    if (silent || (stale && waitedMs >= timeoutMs / 4)) {
      this.#link.cut(`no answer for ${Math.round(now - this.#headSinceMs)} ms`);
      return now + timeoutMs / 12;
    }
    if (now - this.#headSinceMs >= this.#nudgeMs) {
      // Members of 3.6.0 to 3.8.0 ensembles may hold back a committed answer until something else arrives (ZOOKEEPER-4537).
      this.#link.ping();
      while (now - this.#headSinceMs >= this.#nudgeMs) this.#nudgeMs *= 2;
    }
    return Math.min(this.#headSinceMs + this.#nudgeMs, now + timeoutMs / 12);
  }

  #noticeBlock(now: Millis): void {
    if (now - this.#dueMs > blockedMs) this.#resumedMs = now;
  }

  #arm(atMs: Millis): void {
    if (this.#stopped || (this.#cancel !== null && this.#dueMs <= atMs)) return;
    this.#cancel?.();
    this.#dueMs = atMs;
    this.#cancel = this.#runtime.setTimer(Math.max(1, Math.ceil(atMs - this.#runtime.nowMs())), () => {
      this.#cancel = null;
      this.#noticeBlock(this.#runtime.nowMs());
      this.#dueMs = Number.POSITIVE_INFINITY;
      this.check();
      // A keep-alive that this tick itself has sent is no reason for another tick.
      this.#sending = false;
    });
  }
}
