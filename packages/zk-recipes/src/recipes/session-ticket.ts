import { type HoldfastError, ProviderClosedError, type Ticket, type TicketProgress } from "@holdfast/core";
import type { Attempt, AttemptListener } from "./attempt.js";
import { eviction } from "./failures.js";
import type { Hold } from "./hold.js";
import type { SessionDesk } from "./session-desk.js";
import type { SessionLine } from "./session-line.js";

export interface SessionTicketSpec<G> {
  readonly lockName: string;
  /** `roundTripsBefore`: what the tries on earlier sessions took. */
  attempt(desk: SessionDesk, listener: AttemptListener<G>, roundTripsBefore: number): Attempt;
  holdsOf(grant: G): readonly Hold[];
}

/** A ticket for the grant of one hold. */
export function holdTicket(
  line: SessionLine,
  lockName: string,
  attempt: SessionTicketSpec<Hold>["attempt"],
  progress: TicketProgress,
): SessionTicket<Hold> {
  return new SessionTicket(line, { lockName, attempt, holdsOf: (hold) => [hold] }, progress);
}

/** One request for a grant: a try on the present session, and another each time a session ends under it. */
export class SessionTicket<G> implements Ticket<G> {
  readonly granted: Promise<G | null>;
  readonly #line: SessionLine;
  readonly #spec: SessionTicketSpec<G>;
  readonly #progress: TicketProgress;
  #settle!: { resolve(grant: G | null): void; reject(error: unknown): void };
  #settled = false;
  #roundTrips = 0;
  #desk: SessionDesk;
  #attempt: Attempt | null = null;
  #leaving: Promise<void> | null = null;
  #grant: G | null = null;
  #notOver: () => void = () => {};
  #cancelled: Promise<void> | null = null;

  constructor(line: SessionLine, spec: SessionTicketSpec<G>, progress: TicketProgress) {
    this.#line = line;
    this.#desk = line.desk;
    this.#spec = spec;
    this.#progress = progress;
    this.granted = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    this.#enter();
  }

  cancel(): Promise<void> {
    this.#cancelled ??= this.#withdraw();
    return this.#cancelled;
  }

  /** On the present session or the next that connects. How long that may take is core's to bound. */
  #enter(): void {
    const { desk } = this.#line;
    if (desk.session.state === "connected") return this.#enterOn(desk);
    this.#notOver = this.#line.onceConnected(
      () => this.#enter(),
      (error) => this.#reject(error),
    );
  }

  #enterOn(desk: SessionDesk): void {
    this.#desk = desk;
    this.#notOver = desk.whenOver(() => this.#sessionOver());
    const listener: AttemptListener<G> = {
      granted: (grant) => this.#granted(desk, grant),
      unavailable: () => this.#leave((refused) => this.#leftUngranted(refused)),
      failed: (error) => this.#leave(() => this.#reject(error)),
      waiting: () => this.#progress.waiting(),
      notified: () => this.#progress.notified(),
      sequenceHigh: (sequence) => this.#progress.sequenceHigh(sequence),
    };
    this.#attempt = this.#spec.attempt(desk, listener, this.#roundTrips);
    this.#attempt.start();
  }

  #granted(desk: SessionDesk, grant: G): void {
    this.#notOver();
    this.#roundTrips += this.#attempt?.roundTrips ?? 0;
    this.#attempt = null;
    this.#grant = grant;
    // Not before the rest of what has arrived was heard: the end of our own nodes may be in it.
    queueMicrotask(() => this.#handOver(desk, grant));
  }

  #handOver(desk: SessionDesk, grant: G): void {
    if (this.#cancelled !== null) return;
    const holds = this.#spec.holdsOf(grant);
    const over = holds.find((hold) => hold.over);
    if (over === undefined) return this.#resolve(grant);
    // Nobody has had it: what ended is a place in the queue.
    if (desk.over) {
      this.#grant = null;
      return this.#sessionOver();
    }
    this.#notOver = desk.whenOver(() => {
      this.#grant = null;
      this.#sessionOver();
    });
    this.#askWhy(desk, over);
  }

  /** A node was deleted by somebody, or went with the session: only an answer that passed through the leader tells which. */
  #askWhy(desk: SessionDesk, over: Hold): void {
    desk.whenProven(
      () => {
        this.#notOver();
        // Core cancels what has failed, which ends the holds that are left.
        this.#reject(eviction(over.lockName, over.backendId));
      },
      () => !this.#settled && this.#cancelled === null && this.#desk === desk,
    );
  }

  /**
   * Takes everything back and then tells, so that whoever is told finds the queue without it. When contact breaks it tells
   * at once: the taking back goes on by itself.
   */
  #leave(then: (refused: HoldfastError | null) => void): void {
    this.#notOver();
    const attempt = this.#attempt as Attempt;
    this.#attempt = null;
    const forgetState = this.#desk.session.onState(() => then(null));
    this.#leaving = new Promise((resolve, reject) => {
      attempt.withdraw((refused) => {
        forgetState();
        then(refused);
        if (refused === null) resolve();
        else reject(refused);
      });
    });
    // For `cancel()`, which may never come.
    this.#leaving.catch(() => {});
  }

  #leftUngranted(refused: HoldfastError | null): void {
    if (refused === null) this.#resolve(null);
    else this.#reject(refused);
  }

  /** All that was ours is gone with the session, or will be: a place at the tail of the queue is all there is to have. */
  #sessionOver(): void {
    if (this.#settled || this.#cancelled !== null) return;
    const queued = this.#attempt?.queued ?? true;
    this.#roundTrips += this.#attempt?.roundTrips ?? 0;
    this.#attempt?.drop();
    this.#attempt = null;
    if (this.#line.closed) {
      const { lockName } = this.#spec;
      return this.#reject(
        new ProviderClosedError(`${lockName}: the provider was closed`, { lockName, backend: "zookeeper" }),
      );
    }
    if (queued) this.#progress.requeued("session-lost");
    this.#enter();
  }

  async #withdraw(): Promise<void> {
    this.#notOver();
    try {
      if (this.#grant !== null) {
        const holds = this.#spec.holdsOf(this.#grant);
        const ends = await Promise.allSettled(holds.map((hold) => hold.release()));
        for (const end of ends) if (end.status === "rejected") throw end.reason;
      } else {
        if (this.#attempt !== null) this.#leave(() => {});
        await this.#leaving;
      }
    } finally {
      this.#resolve(null);
    }
  }

  #resolve(grant: G | null): void {
    this.#settled = true;
    this.#settle.resolve(grant);
  }

  #reject(error: unknown): void {
    this.#settled = true;
    this.#settle.reject(error);
  }
}
