import { BackendError, type Millis, type Runtime } from "@holdfast/core";

/** After this long, servers that all refuse are taken at their word. */
const refusedAfterMs: Millis = 900;

interface Waiter {
  settle(error: unknown): void;
  refusable: boolean;
  readonly startedMs: Millis;
}

/** What the waiters want to know of the attempts. */
export interface Attempts {
  readonly servers: readonly string[];
  readonly lastCause: unknown;
  /** Every server refused when it was last tried. */
  readonly refused: boolean;
}

/** Those who wait for `connected`. Their timers hold the process: somebody is waiting. */
export class ConnectionWaiters {
  readonly #runtime: Runtime;
  readonly #attempts: Attempts;
  readonly #waiting = new Set<Waiter>();

  constructor(runtime: Runtime, attempts: Attempts) {
    this.#runtime = runtime;
    this.#attempts = attempts;
  }

  wait(waitMs: Millis, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) {
        reject(signal.reason);
        return;
      }
      const aborted = (): void => waiter.settle(signal?.reason);
      const waiter: Waiter = {
        startedMs: this.#runtime.nowMs(),
        refusable: false,
        settle: (error) => {
          if (!this.#waiting.delete(waiter)) return;
          signal?.removeEventListener("abort", aborted);
          cancelLimit();
          cancelEarly();
          if (error === null) resolve();
          else reject(error);
        },
      };
      this.#waiting.add(waiter);
      signal?.addEventListener("abort", aborted);
      const limit = { ref: true };
      const cancelLimit = this.#runtime.setTimer(waitMs, () => waiter.settle(this.#failure(waiter)), limit);
      const cancelEarly = this.#runtime.setTimer(Math.min(waitMs, refusedAfterMs), () => {
        waiter.refusable = true;
        this.attempted();
      });
    });
  }

  attempted(): void {
    if (!this.#attempts.refused) return;
    for (const waiter of [...this.#waiting]) if (waiter.refusable) waiter.settle(this.#failure(waiter));
  }

  connected(): void {
    for (const waiter of [...this.#waiting]) waiter.settle(null);
  }

  reject(error: Error): void {
    for (const waiter of [...this.#waiting]) waiter.settle(error);
  }

  #failure(waiter: Waiter): BackendError {
    const { servers, lastCause, refused } = this.#attempts;
    const tookMs = Math.round(this.#runtime.nowMs() - waiter.startedMs);
    const detail = lastCause instanceof Error ? `: ${describe(lastCause)}` : "";
    const what = refused ? "every server refused" : "no master answered";
    return new BackendError(
      `no connection to Redis at ${servers.join(",")} after ${tookMs} ms, ${what}${detail}`,
      // Credentials do not mend themselves.
      { cause: lastCause, backend: "redis", servers, retryable: !/WRONGPASS|NOAUTH|NOPERM/.test(detail) },
    );
  }
}

/** The errors of several addresses of one name come as one without a text of its own. */
function describe(error: Error): string {
  if (error.message !== "") return error.message;
  const parts = (error as { errors?: unknown }).errors;
  return Array.isArray(parts) ? parts.map((part) => String((part as Error).message)).join("; ") : error.name;
}
