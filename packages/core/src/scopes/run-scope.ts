import type { ScopeContext } from "../api/acquiring.js";
import type { LockHandle } from "../api/handle.js";
import type { GrantEngine } from "../grants/engine.js";
import { Handle } from "../grants/handle.js";
import { type Frame, runInFrame } from "./frames.js";
import { runInScope, type ScopeOptions } from "./scope.js";

export type ScopeBody<T, H = LockHandle> = (lock: H, context: ScopeContext) => PromiseLike<T> | T;

/** Runs a body in the scope of one hold. `frame`: the frame that the body's own calls find when they ask for the lock again. */
export function runScope<T, H extends Handle = Handle>(
  engine: GrantEngine,
  handle: H,
  options: ScopeOptions,
  body: ScopeBody<T, H>,
  frame: Frame | undefined,
): Promise<T> {
  const means = {
    signals: engine.signals,
    foundGone: () => Handle.foundGone(handle),
    lossError: (value: { readonly value: unknown }) => Handle.holdOf(handle).lossError(value),
  };
  return runInScope(handle, means, options, (context) =>
    frame === undefined ? body(handle, context) : inFrame(frame, () => body(handle, context)),
  );
}

async function inFrame<T>(frame: Frame, body: () => PromiseLike<T> | T): Promise<T> {
  try {
    return await runInFrame(frame, body);
  } finally {
    frame.end();
  }
}
