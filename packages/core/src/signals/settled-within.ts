import type { Runtime } from "../api/runtime.js";
import type { Millis } from "../api/values.js";

/**
 * Resolves when `work` has settled, in either way, or after `limitMs`. Never rejects. `ref`: whether the wait
 * keeps the process alive.
 */
export function settledWithin(
  runtime: Runtime,
  work: Promise<unknown>,
  limitMs: Millis,
  options?: { readonly ref?: boolean },
): Promise<void> {
  return new Promise((resolve) => {
    const cancel = runtime.setTimer(limitMs, resolve, options);
    const settled = (): void => {
      cancel();
      resolve();
    };
    work.then(settled, settled);
  });
}
