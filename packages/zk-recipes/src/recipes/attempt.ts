import type { HoldfastError } from "@holdfast/core";
import { requestFailure } from "./failures.js";
import type { SessionDesk } from "./session-desk.js";

/** What one try hears of: one of the three, once. After the last two it is withdrawn. */
export interface AttemptListener<G> {
  /** What was made is the grant's from now on. */
  granted(grant: G): void;
  /** Waiting was not asked for. */
  unavailable(): void;
  failed(error: HoldfastError): void;
  /** Others are ahead, and the try waits for them. */
  waiting(): void;
  /** Nodes ahead have gone; it may be our turn. */
  notified(): void;
  /** The counter behind a node's name is on its way to the end of its range. */
  sequenceHigh(sequence: number): void;
}

/** A try for a grant on one session, from its first node to a hold. */
export interface Attempt {
  readonly roundTrips: number;
  /** Has a place in a queue that goes with the session. */
  readonly queued: boolean;
  start(): void;
  /** The session is over, and with it every node: tells and sends nothing more. */
  drop(): void;
  /**
   * Takes back all that was made or may have been. `gone` runs once, when nothing is left or the session is over; `refused`:
   * the server said no for good, and something stays as long as the session.
   */
  withdraw(gone: (refused: HoldfastError | null) => void): void;
}

/** Several things to be taken back at once, some of which may take a while. */
export class TakingBack {
  readonly #desk: SessionDesk;
  readonly #lockName: string;
  readonly #done: (refused: HoldfastError | null) => void;
  #open = 1;
  #refused: HoldfastError | null = null;

  constructor(desk: SessionDesk, lockName: string, done: (refused: HoldfastError | null) => void) {
    this.#desk = desk;
    this.#lockName = lockName;
    this.#done = done;
  }

  create(create: { abandon(gone: () => void): void } | null): void {
    if (create === null) return;
    this.#open += 1;
    let told = false;
    create.abandon(() => {
      if (told) return;
      told = true;
      this.#close();
    });
  }

  node(path: string): void {
    const { session, deletions } = this.#desk;
    this.#open += 1;
    deletions.delete(path, (_outcome, error) => {
      if (error !== null)
        this.#refused ??= requestFailure(`deleting ${path}`, error, session, this.#lockName);
      this.#close();
    });
  }

  /** That was all. */
  end(): void {
    this.#close();
  }

  #close(): void {
    this.#open -= 1;
    if (this.#open === 0) this.#done(this.#refused);
  }
}
