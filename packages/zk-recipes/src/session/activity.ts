import type { Millis } from "@holdfast/core";
import type { Stamp } from "./lease-clock.js";

/**
 * A leader hears of the activity of its followers' sessions in the answers to its own pings, each half tick. Servers grant
 * sessions of two ticks and more, so that is a quarter of the session time-out at most.
 */
const reportShare = 1 / 4;

/** Stamps closer together than this share of the time-out are not worth keeping apart. */
const grainShare = 1 / 64;

/**
 * When requests were sent on the present connection, to tell what an answered proof proves.
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
