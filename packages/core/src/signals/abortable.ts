import type { GrantEngine } from "../grants/engine.js";

/** Waits for `work`, and stops waiting when the signal aborts; its result is then ignored. Errors become errors of ours. */
export function abortable<T>(
  engine: GrantEngine,
  signal: AbortSignal | undefined,
  work: () => Promise<T>,
  name: string,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const aborted = (): void => reject(signal?.reason);
    if (signal !== undefined) engine.signals.add(signal, aborted);
    const done = (): void => {
      if (signal !== undefined) engine.signals.remove(signal, aborted);
    };
    work().then(
      (value) => {
        done();
        resolve(value);
      },
      (error) => {
        done();
        reject(engine.typed(error, name));
      },
    );
  });
}
