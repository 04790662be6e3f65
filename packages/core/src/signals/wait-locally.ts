import type { ProviderClosedError } from "../api/errors.js";
import type { Millis } from "../api/values.js";
import { Alarm } from "../clock/alarm-clock.js";
import type { GrantEngine, Waiting } from "../grants/engine.js";

export interface LocalBounds {
  readonly deadlineMs: Millis;
  readonly signal: AbortSignal | undefined;
}

/**
 * Waits for something inside this process, such as the end of a sibling scope, or a hold that is certain again. `arm`
 * registers `wake` and returns a function that removes it. Resolves to `true` once `wake` was called, and to `false` at the
 * deadline. Rejects with `signal.reason`, and when the provider closes.
 */
export function waitLocally(
  engine: GrantEngine,
  bounds: LocalBounds,
  arm: (wake: () => void) => () => void,
): Promise<boolean> {
  const { signal } = bounds;
  if (engine.closed) return Promise.reject(engine.closedError());
  if (signal?.aborted === true) return Promise.reject(signal.reason);
  if (bounds.deadlineMs <= engine.runtime.nowMs()) return Promise.resolve(false);
  return new Promise((resolve, reject) => {
    const wait = new LocalWait((settle) => {
      engine.waitAlarms.clear(wait);
      engine.waiting.delete(wait);
      if (signal !== undefined) engine.signals.remove(signal, aborted);
      disarm();
      settle();
    });
    const aborted = (): void => wait.end(() => reject(signal?.reason));
    wait.onTimeout = () => resolve(false);
    wait.onClosed = reject;
    engine.waiting.add(wait);
    engine.waitAlarms.set(wait, bounds.deadlineMs);
    if (signal !== undefined) engine.signals.add(signal, aborted);
    const disarm = arm(() => wait.end(() => resolve(true)));
  });
}

class LocalWait extends Alarm implements Waiting {
  onTimeout: () => void = () => {};
  onClosed: (error: ProviderClosedError) => void = () => {};
  #ended = false;
  readonly #onEnd: (settle: () => void) => void;

  constructor(onEnd: (settle: () => void) => void) {
    super();
    this.#onEnd = onEnd;
  }

  /** The first end counts. */
  end(settle: () => void): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#onEnd(settle);
  }

  ring(): void {
    this.end(this.onTimeout);
  }

  providerClosed(error: ProviderClosedError): void {
    this.end(() => this.onClosed(error));
  }
}
