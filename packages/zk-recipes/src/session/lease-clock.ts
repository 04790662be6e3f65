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
 * Fed by what passed through the leader only (writes, `sync`, handshakes), and counted from when that was *sent*: the leader
 * starts its own count later, never earlier. A ping or a read may have been answered by a follower that was cut
 * off seconds ago, while the leader has given our nodes away.
 */
export class LeaseClock {
  readonly #runtime: Runtime;
  #proof: Stamp | null = null;
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

  /** When the last answered proof was sent; `-Infinity` before there was one. */
  get provenAtMs(): Millis {
    return this.#proof?.atMs ?? -Infinity;
  }

  /** The server has answered what was sent at `sent`. An older proof than the present one changes nothing. */
  prove(sent: Stamp, timeoutMs: Millis): void {
    if (this.#proof !== null && sent.atMs < this.#proof.atMs) return;
    this.#proof = sent;
    this.#timeoutMs = timeoutMs;
  }

  /** A handshake changed the time-out without proving anything: what is shorter counts. */
  shorten(timeoutMs: Millis): void {
    if (this.#proof !== null) this.#timeoutMs = Math.min(this.#timeoutMs, timeoutMs);
  }

  end(): void {
    this.#proof = null;
  }

  /** By the monotonic clock alone. `-Infinity` without a proof. */
  endMs(): Millis {
    return this.#proof === null ? -Infinity : this.#proof.atMs + this.#timeoutMs - this.#marginMs();
  }

  /**
   * What may be promised: `endMs()`, less a suspected sleep. The monotonic clock stands still while a
   * machine sleeps and the server's does not, so a wall clock that ran ahead is believed until the next proof.
   */
  untilMs(): Millis {
    return this.endMs() - this.suspectedSleepMs();
  }

  /** Since the last proof; 0 for what may be clock adjustment. */
  suspectedSleepMs(): Millis {
    if (this.#proof === null) return 0;
    const now = this.stamp();
    const driftMs = now.wallMs - this.#proof.wallMs - (now.atMs - this.#proof.atMs);
    return driftMs > suspiciousDriftMs ? driftMs : 0;
  }

  /** The server may end the session right at the time-out, and our timers are late. */
  #marginMs(): Millis {
    return Math.max(leastMarginMs, this.#timeoutMs * marginShare);
  }
}
