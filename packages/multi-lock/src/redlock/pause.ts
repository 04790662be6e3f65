import type { Millis, Runtime } from "@holdfast/core";

/** A time that can be ended early. */
export interface Pause {
  /** Resolves at the end, never rejects. */
  readonly over: Promise<void>;
  end(): void;
}

export function pause(runtime: Runtime, forMs: Millis, options?: { readonly ref?: boolean }): Pause {
  let end = (): void => {};
  const over = new Promise<void>((resolve) => {
    const cancel = runtime.setTimer(Math.ceil(forMs), resolve, options);
    end = () => {
      cancel();
      resolve();
    };
  });
  return { over, end };
}
