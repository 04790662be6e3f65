/**
 * Calls a listener from within the parse loop. If the listener throws, the frames behind it are still handled. The error
 * is thrown again in the next tick, as an uncaught exception, so that it does not pass unnoticed.
 */
export function guarded(fn: () => void): void {
  try {
    fn();
  } catch (error) {
    throwLater(error);
  }
}

/** Throws `error` in the next tick, as `guarded` does. For callers that run for every answer and save the closure. */
export function throwLater(error: unknown): void {
  process.nextTick(() => {
    throw error;
  });
}
