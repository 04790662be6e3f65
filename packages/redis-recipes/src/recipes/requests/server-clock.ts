import type { Millis } from "@holdfast/core";
import type { Answer } from "../../client/redis-line.js";
import type { ClockReading } from "../../client/server-info.js";

/**
 * Two clocks drift apart by less than this share of the time that passes. It is twenty times the rate at which NTP adjusts a
 * clock.
 */
const drift = 0.01;
const toleratedMs: Millis = 2;
/**
 * How long after the computed end of a hold it is looked at: Redis ends a TTL by its whole milliseconds, and a look a moment too
 * early costs a request.
 */
export const expiryGraceMs: Millis = 2;

/** What is taken off a lease, so that it ends here before it ends at the server. */
export function marginMs(leaseMs: Millis): Millis {
  return leaseMs * drift + toleratedMs;
}

/**
 * Whether the server refused a request as too late although it was answered within `limitMs`. Then the bound of the server's
 * clock was wrong, as after a sleep of this machine, a step of a clock or a day of drift. The answer has corrected the bound, and
 * a request with a new date can be sent.
 */
export function isMisdated(answer: Answer<{ readonly status: string }>, limitMs: Millis): boolean {
  return answer.reply.status === "late" && answer.answeredMs - answer.sentMs < limitMs;
}

/**
 * An upper bound of one server's clock; it belongs to one run id. The time in an answer was read after its request was sent. So
 * the server time of that answer, plus the time that has passed since the *sending*, is never behind the server.
 */
export class ServerClock {
  #last: ClockReading | null = null;
  /** By how much the server's clock may be ahead of ours, according to all answers: a slow answer leaves these bounds as they are. */
  #leastAheadMs = 0;
  #mostAheadMs = 0;
  /** After a step of the clock: answers to requests that were sent before this time may be from before the step. */
  #sentFromMs: Millis = -Infinity;

  /**
   * Notes a reading. `false` when the server's clock was stepped: its time lies outside what can have passed since the answers
   * before. Then the bounds are forgotten, and every lease that was read by them is in doubt. A step that is shorter than the
   * answer took is noticed with the next quick answer.
   */
  observe(reading: ClockReading): boolean {
    const { serverMs, sentMs, answeredMs } = reading;
    if (sentMs < this.#sentFromMs) return true;
    const driftMs = this.#last === null ? Infinity : drift * Math.abs(answeredMs - this.#last.sentMs);
    const leastMs = this.#leastAheadMs - driftMs;
    const mostMs = this.#mostAheadMs + driftMs;
    if (serverMs - sentMs < leastMs - toleratedMs || serverMs - answeredMs > mostMs + toleratedMs) {
      this.#last = null;
      this.#sentFromMs = answeredMs;
      return false;
    }
    this.#leastAheadMs = Math.max(leastMs, serverMs - answeredMs);
    this.#mostAheadMs = Math.max(this.#leastAheadMs, Math.min(mostMs, serverMs - sentMs));
    if (this.#last === null || sentMs >= this.#last.sentMs) this.#last = reading;
    return true;
  }

  /**
   * `false` for an answer to a request that was sent before a step was noticed: its TTL may have been read by the clock before
   * the step.
   */
  trusts(sentMs: Millis): boolean {
    return sentMs >= this.#sentFromMs;
  }

  /** The server's clock shows no more than this; `null` while nothing is known. */
  upperMs(nowMs: Millis): number | null {
    return this.#last === null ? null : this.#last.serverMs + (nowMs - this.#last.sentMs);
  }

  /** The earliest moment, by our clock, at which the server's clock may show `serverMs`. */
  localMs(serverMs: number): Millis | null {
    return this.#last === null ? null : this.#last.sentMs + (serverMs - this.#last.serverMs);
  }

  /** How old the bound is. */
  ageMs(nowMs: Millis): Millis {
    return this.#last === null ? Infinity : nowMs - this.#last.sentMs;
  }
}
