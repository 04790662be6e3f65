import type { Millis, Runtime } from "@holdfast/core";

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
 * Until when the server is known to keep the session.
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

  /** As granted in the last handshake that counted, 0 before. */
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

  /** By the monotonic clock alone. `-Infinity` without a proof. */
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
    const now = this.stamp();
    const driftMs = now.wallMs - stamp.wallMs - (now.atMs - stamp.atMs);
    return driftMs > suspiciousDriftMs ? driftMs : 0;
  }

  /** The server may end the session right at the time-out, and our timers are late. */
  #marginMs(): Millis {
    return Math.max(leastMarginMs, this.#timeoutMs * marginShare);
  }
}
