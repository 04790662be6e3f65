/** Resolves after a time, or when the signal aborts. Clears the timer, because a remaining timer would keep the process alive. */
export function pass(ms: number, signal: AbortSignal | null): Promise<void> {
  if (signal?.aborted === true) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener("abort", done);
  });
}
