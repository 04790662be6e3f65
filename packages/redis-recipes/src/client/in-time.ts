import type { Millis, Runtime } from "@holdfast/core";

/** So long an answer may lie unread in the socket of a process that is late itself: it is read before the timers run again. */
const unreadMs: Millis = 1;

/**
 * Waits for all, or until the server has been silent for `limitMs`: `undefined` for those that did not settle by then. They never
 * reject. A server that is still answering what was asked before is busy and not silent, however long its line has become: if its
 * answers were given up for their age alone, the same would be asked again, and the line would grow until no answer came in time.
 *
 * @param heardMs when the server last answered anything
 */
export function inTime<T>(
  runtime: Runtime,
  limitMs: Millis,
  promises: readonly Promise<T>[],
  heardMs: () => Millis,
): Promise<readonly (T | undefined)[]> {
  return new Promise((resolve) => {
    const startedMs = runtime.nowMs();
    const values: (T | undefined)[] = promises.map(() => undefined);
    let left = promises.length;
    let late = false;
    let cancel = (): void => {};
    const arm = (delayMs: Millis): void => {
      if (limitMs !== Infinity) cancel = runtime.setTimer(delayMs, due, { ref: true });
    };
    const due = (): void => {
      const silentMs = runtime.nowMs() - Math.max(startedMs, heardMs());
      if (silentMs < limitMs) {
        late = false;
        arm(limitMs - silentMs);
      } else if (!late) {
        late = true;
        arm(unreadMs);
      } else {
        resolve([...values]);
      }
    };
    arm(limitMs);
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
