/** What did not come in time. */
export class TooLateError extends Error {
  override readonly name: string = "TooLateError";
}

/** The promise, or `TooLateError` after so long; what comes later is dropped. */
export function within<T>(promise: Promise<T>, limitMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new TooLateError(`no answer within ${limitMs} ms`)), limitMs);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
