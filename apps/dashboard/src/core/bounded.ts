/** An answer did not come in time. */
export class TooLateError extends Error {
  override readonly name: string = "TooLateError";
}

/** Settles like the promise, or rejects with `TooLateError` after the limit; a later answer is dropped. */
export function within<T>(promise: Promise<T>, limitMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new TooLateError(`no answer within ${limitMs} ms`)), limitMs);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
