/**
 * Calls a listener from within the parse loop. One that throws must neither keep the frames behind it from being
 * handled nor pass unnoticed: its error comes out as an uncaught exception of its own, right after.
 */
export function guarded(fn: () => void): void {
  try {
    fn();
  } catch (error) {
    throwLater(error);
  }
}

/** What `guarded` does with the error, for callers that run for every answer and save the closure. */
export function throwLater(error: unknown): void {
  process.nextTick(() => {
    throw error;
  });
}
