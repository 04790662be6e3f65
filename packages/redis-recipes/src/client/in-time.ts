import type { Millis, Runtime } from "@holdfast/core";

/** `undefined` for those that did not settle in time. They never reject. */
export function inTime<T>(
  runtime: Runtime,
  limitMs: Millis,
  promises: readonly Promise<T>[],
): Promise<readonly (T | undefined)[]> {
  return new Promise((resolve) => {
    const values: (T | undefined)[] = promises.map(() => undefined);
    let left = promises.length;
    const cancel =
      limitMs === Infinity ? () => {} : runtime.setTimer(limitMs, () => resolve([...values]), { ref: true });
    promises.forEach((promise, index) => {
      void promise.then((value) => {
        values[index] = value;
        if (--left > 0) return;
        cancel();
        resolve(values);
      });
    });
  });
}
