import type { Millis, Runtime } from "@holdfast/core";

/** Runs `fn` repeatedly, each time after `nextMs()`. Returns a function that ends it. */
export function every(runtime: Runtime, nextMs: () => Millis, fn: () => void): () => void {
  let stop = (): void => {};
  const arm = (): void => {
    stop = runtime.setTimer(nextMs(), () => {
      arm();
      fn();
    });
  };
  arm();
  return () => stop();
}
