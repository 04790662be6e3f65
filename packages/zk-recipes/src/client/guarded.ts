/**
 * Calls a listener from within the parse loop. One that throws must neither keep the frames behind it from being
 * handled nor pass unnoticed: its error comes out as an uncaught exception of its own, right after.
 */
export function guarded(fn: () => void): void {
  try {
    fn();
  } catch (error) {
    process.nextTick(() => {
      throw error;
    });
  }
}
