import type { BackendError } from "../api/errors.js";
import type { Runtime } from "../api/runtime.js";
import type { Millis } from "../api/values.js";
import { inSlices } from "../clock/slices.js";

/** After this long, a wait ends when all servers refuse. An earlier refusal does not end it. */
const refusedAfterMs: Millis = 900;

interface Waiter {
  settle(error: unknown): void;
  readonly startedMs: Millis;
}

/** What the waiters need to know about the attempts to connect. */
export interface Attempts {
  readonly servers: readonly string[];
  readonly lastCause: unknown;
  /** Every server refused when it was last tried. */
  readonly refused: boolean;
}

/** How a wait ended without a connection. */
export interface VainWait {
  readonly tookMs: Millis;
  /** `true`: every server refused. `false`: no server answered in time. */
  readonly refused: boolean;
  readonly servers: readonly string[];
  readonly lastCause: unknown;
  /** `: ` and the message of the last cause, or an empty text. */
  readonly detail: string;
}

/** The callers that wait for a connection. The timer of each limit keeps the process alive. */
export class ConnectionWaiters {
  readonly #runtime: Runtime;
  readonly #attempts: Attempts;
  readonly #failure: (wait: VainWait) => BackendError;
  readonly #waiting = new Set<Waiter>();
  /** Those among `#waiting` that have waited long enough for a refusal to end their wait. */
  readonly #refusable = new Set<Waiter>();
  /** Counts the changes of contact. */
  #contact = 0;

  /** `failure`: makes the error of a caller that got no connection. */
  constructor(runtime: Runtime, attempts: Attempts, failure: (wait: VainWait) => BackendError) {
    this.#runtime = runtime;
    this.#attempts = attempts;
    this.#failure = failure;
  }

  get size(): number {
    return this.#waiting.size;
  }

  wait(waitMs: Millis, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) {
        reject(signal.reason);
        return;
      }
      const startedMs = this.#runtime.nowMs();
      const aborted = (): void => waiter.settle(signal?.reason);
      const waiter: Waiter = {
        startedMs,
        settle: (error) => {
          if (!this.#waiting.delete(waiter)) return;
          this.#refusable.delete(waiter);
          signal?.removeEventListener("abort", aborted);
          cancelLimit();
          cancelEarly();
          if (error === null) resolve();
          else reject(error);
        },
      };
      this.#waiting.add(waiter);
      signal?.addEventListener("abort", aborted);
      const cancelLimit = this.#runtime.setTimer(waitMs, () => waiter.settle(this.#inVain(waiter)), {
        ref: true,
      });
      const cancelEarly = this.#runtime.setTimer(Math.min(waitMs, refusedAfterMs), () => {
        this.#refusable.add(waiter);
        if (this.#attempts.refused) waiter.settle(this.#inVain(waiter));
      });
    });
  }

  attemptFailed(): void {
    this.#contact++;
    if (this.#attempts.refused)
      this.#settleAll(this.#refusable, (waiter) => waiter.settle(this.#inVain(waiter)));
  }

  /**
   * Settles all waiters, in slices when there are very many. If contact breaks again meanwhile, those whose turn has
   * not come wait on.
   */
  connected(): void {
    const contact = ++this.#contact;
    this.#settleAll(this.#waiting, (waiter) => {
      if (contact === this.#contact) waiter.settle(null);
    });
  }

  reject(error: Error): void {
    this.#settleAll(this.#waiting, (waiter) => waiter.settle(error));
  }

  #settleAll(those: ReadonlySet<Waiter>, settle: (waiter: Waiter) => void): void {
    inSlices(this.#runtime, [...those], settle);
  }

  #inVain(waiter: Waiter): BackendError {
    const { servers, lastCause, refused } = this.#attempts;
    const tookMs = Math.round(this.#runtime.nowMs() - waiter.startedMs);
    const detail = lastCause instanceof Error ? `: ${describe(lastCause)}` : "";
    return this.#failure({ tookMs, refused, servers, lastCause, detail });
  }
}

/** The errors of several addresses of one host name come as one error that has no message of its own. */
function describe(error: Error): string {
  if (error.message !== "") return error.message;
  const parts = (error as { errors?: unknown }).errors;
  return Array.isArray(parts) ? parts.map((part) => String((part as Error).message)).join("; ") : error.name;
}
