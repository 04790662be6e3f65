// These are taken when this module loads: a test that fakes the timers of its process later does not stop the server.
const { setTimeout: startTimer, clearTimeout: stopTimer } = globalThis;
const monotonicMs = performance.now.bind(performance);
const sinceEpochMs = Date.now;
const longestTimerMs = 2_147_483_647;

/** The source of time of the embedded server. */
export interface Clock {
  /** Milliseconds from an arbitrary origin. Never goes back. */
  nowMs(): number;
  /** Milliseconds since 1970, for `ctime` and `mtime`. */
  wallMs(): number;
  /** Calls back once, not before `nowMs()` has reached `atMs`. Returns a function that cancels the call. */
  at(atMs: number, callback: () => void): () => void;
}

/** The time of the machine. Its timers don't keep the process alive. */
export class SystemClock implements Clock {
  nowMs(): number {
    return monotonicMs();
  }

  wallMs(): number {
    return sinceEpochMs();
  }

  at(atMs: number, callback: () => void): () => void {
    let timer: NodeJS.Timeout;
    const arm = (): void => {
      const leftMs = Math.max(0, Math.ceil(atMs - monotonicMs()));
      timer = startTimer(() => (monotonicMs() < atMs ? arm() : callback()), Math.min(leftMs, longestTimerMs));
      timer.unref();
    };
    arm();
    return () => stopTimer(timer);
  }
}

interface Timer {
  readonly atMs: number;
  readonly order: number;
  readonly callback: () => void;
}

/**
 * A clock that stands still until a test moves it. Timers that fall due run inside `advance`, in order of time. Sockets
 * do not depend on it, so wait for their effects as always.
 */
export class ManualClock implements Clock {
  readonly #wallOffsetMs: number;
  readonly #timers = new Set<Timer>();
  #nowMs: number;
  #order = 0;

  /** `wallMs` is the first value of `wallMs()`: default 2025-01-01T00:00:00Z. */
  constructor(options: { readonly nowMs?: number; readonly wallMs?: number } = {}) {
    this.#nowMs = options.nowMs ?? 0;
    this.#wallOffsetMs = (options.wallMs ?? 1_735_689_600_000) - this.#nowMs;
  }

  /** Milliseconds; it starts at the option `nowMs` (default 0). */
  nowMs(): number {
    return this.#nowMs;
  }

  /** Milliseconds since 1970; moves with `nowMs()`. */
  wallMs(): number {
    return this.#nowMs + this.#wallOffsetMs;
  }

  /** Calls back inside the `advance` or `jump` that reaches `atMs`. Returns a function that cancels the call. */
  at(atMs: number, callback: () => void): () => void {
    const timer = { atMs, order: this.#order++, callback };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Lets `ms` milliseconds pass and runs each timer at its own time. */
  advance(ms: number): void {
    this.#checkMs(ms);
    const endMs = this.#nowMs + ms;
    for (let timer = this.#next(endMs); timer !== undefined; timer = this.#next(endMs)) {
      this.#nowMs = Math.max(this.#nowMs, timer.atMs);
      this.#fire(timer);
    }
    this.#nowMs = endMs;
  }

  /** Skips `ms` milliseconds, like a machine that was suspended: every timer that fell due meanwhile runs late. */
  jump(ms: number): void {
    this.#checkMs(ms);
    this.#nowMs += ms;
    for (let timer = this.#next(this.#nowMs); timer !== undefined; timer = this.#next(this.#nowMs)) {
      this.#fire(timer);
    }
  }

  #fire(timer: Timer): void {
    this.#timers.delete(timer);
    timer.callback();
  }

  #next(endMs: number): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.#timers) {
      if (timer.atMs > endMs) continue;
      if (
        first === undefined ||
        timer.atMs < first.atMs ||
        (timer.atMs === first.atMs && timer.order < first.order)
      ) {
        first = timer;
      }
    }
    return first;
  }

  #checkMs(ms: number): void {
    if (!(ms >= 0 && ms < Number.POSITIVE_INFINITY)) {
      throw new RangeError(`time goes forward by a number of milliseconds, not by ${ms}`);
    }
  }
}
