import type { Runtime } from "../api/runtime.js";
import type { Millis } from "../api/values.js";

/** A wait that can be ended early. */
export interface Pause {
  /** Resolves at the end, never rejects. */
  readonly over: Promise<void>;
  end(): void;
}

/** `ref`: whether it keeps the process alive. Default `false`. */
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
