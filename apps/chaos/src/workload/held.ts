import type { RunClock } from "../engine/clock.js";
import type { Nanos } from "../history/record.js";
import type { WorkerKey } from "./protocol.js";
import type { Grant } from "./recipe.js";

/** A hold of this worker, under the name that it has in the history. */
export interface Held {
  readonly id: string;
  readonly key: WorkerKey;
  readonly mode: "read" | "write";
  readonly thread: string;
  readonly grant: Grant;
  /** Removes the listener for its loss. */
  forget(): void;
}

/**
 * The time until which a grant is promised now, by the clock of the run; `undefined` if there is no promise. The clock
 * is read first. So a process that stands still in between records less than it was promised, and never more.
 */
export function validUntil(grant: Grant, clock: RunClock): Nanos | undefined {
  const now = clock.now();
  const leftMs = grant.remainingMs();
  return leftMs === null || !Number.isFinite(leftMs) ? undefined : now + leftMs * 1e6;
}

/** Reports extensions of promises, for all holds that last long enough for one. */
export class Promises {
  readonly #clock: RunClock;
  readonly #extended: (held: Held, until: Nanos) => void;
  readonly #known = new Map<Held, Nanos>();
  readonly #timer: NodeJS.Timeout;

  constructor(clock: RunClock, everyMs: number, extended: (held: Held, until: Nanos) => void) {
    this.#clock = clock;
    this.#extended = extended;
    this.#timer = setInterval(() => this.#look(), everyMs);
    this.#timer.unref();
  }

  add(held: Held, until: Nanos): void {
    this.#known.set(held, until);
  }

  drop(held: Held): void {
    this.#known.delete(held);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    for (const [held, before] of this.#known) {
      if (held.grant.lost?.aborted === true) continue;
      const until = validUntil(held.grant, this.#clock);
      // Small steps are noise: the two clocks are read at different moments.
      if (until === undefined || until < before + (held.key.leaseMs / 20) * 1e6) continue;
      this.#known.set(held, until);
      this.#extended(held, until);
    }
  }
}
