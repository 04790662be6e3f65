import type { Grant, Millis, Runtime, Ticket, TicketProgress } from "@holdfast/core";
import { nothingDone, OutcomeUnknownError } from "../client/errors.js";
import type { Place, WakeRooms, WakeRule } from "./wake-rooms.js";

/** What one try came to: a grant, or after how long trying again may help without any message; `null`: nobody can say. */
export type Tried =
  | {
      readonly grant: Grant;
      /** Of a read: the same owner holds the write too. */
      readonly beside?: boolean | undefined;
    }
  | Refused;

interface Refused {
  readonly againMs: Millis | null;
  /** As in `TicketProgress.waiting`. */
  readonly blockedBy?: Error | undefined;
}

/** How one request for a grant is made, made again and taken back. All tries are of one wire owner, so none counts twice. */
export interface PollingSpec {
  /** Counts of this ticket go into the grant. */
  tryOnce(counts: { readonly roundTrips: number; readonly contended: boolean }): Promise<Tried>;
  /** The owner's last request: ends whatever a try may have left. Not called while a try is under way. */
  takeBack(): Promise<void>;
  readonly mayWait: boolean;
  /** Where wake-ups come from; `null`: it polls and nothing else. */
  readonly channel: {
    readonly name: string;
    readonly kind: "plain" | "redisson";
    readonly rule: WakeRule;
    readonly size: number;
  } | null;
  /** Whether a try whose answer was lost may be made again, which then says what became of it. */
  readonly mayRepeat: boolean;
  /** Longest sleep without a message, after so many refusals. */
  sleepMs(refusals: number): Millis;
}

/** Between a message that was lost and the next look: a second, spread so that clients do not look in step. */
export function cappedSleepMs(runtime: Runtime, capMs: Millis = 1_000): Millis {
  return capMs * (0.75 + 0.25 * runtime.random());
}

/** Redis ends a TTL by its whole milliseconds, and a moment too early costs a round trip. */
const expiryGraceMs: Millis = 2;

/**
 * A request of a kind that has no queue of ours: asks, and asks again when a message, a reconnect or the time says that
 * the answer may be another. Nothing of it is left at the server while it sleeps, unless its tries leave it there.
 */
export class PollingTicket implements Ticket {
  readonly granted: Promise<Grant | null>;
  readonly #runtime: Runtime;
  readonly #rooms: WakeRooms;
  readonly #spec: PollingSpec;
  readonly #progress: TicketProgress;
  readonly #settled: Promise<unknown>;
  #place: Place | null = null;
  #cancelled: Promise<void> | undefined;
  #over = false;
  #woken = false;
  #wake: () => void = () => {};
  #roundTrips = 0;
  /** A request was sent, so something may be left of it. */
  #asked = false;

  constructor(runtime: Runtime, rooms: WakeRooms, spec: PollingSpec, progress: TicketProgress) {
    this.#runtime = runtime;
    this.#rooms = rooms;
    this.#spec = spec;
    this.#progress = progress;
    this.granted = this.#run();
    this.#settled = this.granted.catch(() => {});
  }

  cancel(): Promise<void> {
    this.#cancelled ??= this.#cancel();
    return this.#cancelled;
  }

  async #cancel(): Promise<void> {
    this.#over = true;
    this.#wake();
    await this.#settled;
    this.#place?.leave();
    if (this.#asked) await this.#spec.takeBack();
  }

  async #run(): Promise<Grant | null> {
    const { mayWait, channel } = this.#spec;
    try {
      const first = await this.#ask(false);
      if ("grant" in first) return first.grant;
      if (!mayWait || this.#over) return null;
      let againMs = first.againMs;
      if (channel !== null) {
        this.#place = this.#rooms.enter(channel.name, channel.kind, channel.rule, {
          size: channel.size,
          wake: this.#heard,
        });
        // What was published between the first try and the subscription is known by trying again.
        await this.#listening(this.#place, againMs);
        againMs = 0;
      }
      for (let refusals = 1; !this.#over; refusals++) {
        await this.#sleep(againMs, refusals);
        if (this.#over) break;
        const tried = await this.#askPatiently(againMs);
        if ("grant" in tried) return tried.grant;
        againMs = tried.againMs;
      }
      return null;
    } finally {
      this.#place?.leave();
    }
  }

  async #ask(contended: boolean): Promise<Tried> {
    this.#asked = true;
    this.#woken = false;
    this.#roundTrips++;
    const tried = await this.#spec.tryOnce({ roundTrips: this.#roundTrips, contended });
    if (!("grant" in tried) && this.#spec.mayWait) this.#progress.waiting(tried.blockedBy);
    return tried;
  }

  /** Somebody who waits already sits an outage out: how long that may last is core's to say. */
  async #askPatiently(againMs: Millis | null): Promise<Tried> {
    try {
      return await this.#ask(true);
    } catch (error) {
      // The owner may hold by now, and the lease runs: that is looked at as soon as anything can be.
      if (error instanceof OutcomeUnknownError && this.#spec.mayRepeat) return { againMs: 50 };
      if (!nothingDone(error)) throw error;
      return { againMs: againMs === 0 ? null : againMs };
    }
  }

  /** Until the subscription stands or a sleep is over, whichever comes first: a subscription is no condition of a grant. */
  async #listening(place: Place, againMs: Millis | null): Promise<void> {
    place.ready.then(
      () => this.#wake(),
      () => {},
    );
    await this.#sleep(againMs, 1);
  }

  readonly #heard = (): void => {
    this.#woken = true;
    this.#wake();
  };

  #sleep(againMs: Millis | null, refusals: number): Promise<void> {
    if (this.#over || this.#woken || againMs === 0) return Promise.resolve();
    const cappedMs = this.#spec.sleepMs(refusals);
    const forMs = againMs === null ? cappedMs : Math.min(cappedMs, againMs + expiryGraceMs);
    return new Promise((resolve) => {
      const cancel = this.#runtime.setTimer(Math.ceil(forMs), () => this.#wake());
      this.#wake = () => {
        this.#wake = () => {};
        cancel();
        if (this.#woken && !this.#over) this.#progress.notified();
        resolve();
      };
    });
  }
}
