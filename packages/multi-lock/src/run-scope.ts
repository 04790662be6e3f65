import type { MultiHandle, ScopeContext } from "@holdfast/core";
import { Handle, runInFrames, runInScope } from "@holdfast/core/internal";
import { HeldTogether } from "./multi-handle.js";
import type { MultiAsk } from "./options.js";
import { signals } from "./part-handle.js";

export type MultiBody<T> = (lock: MultiHandle, context: ScopeContext) => PromiseLike<T> | T;

/** Runs the scope of several holds like that of a single one, in the frames of all parts. */
export async function runMultiScope<T>(handle: HeldTogether, ask: MultiAsk, body: MultiBody<T>): Promise<T> {
  const means = {
    signals,
    foundGone: () => HeldTogether.foundGone(handle),
    lossError: (value: { readonly value: unknown }) => handle.lossError(value),
  };
  const ofCore = coreHandlesIn(handle);
  return await runInScope(handle, means, ask, (context) => runInFrames(ofCore, () => body(handle, context)));
}

/** Core's handles of all parts, also of the parts of multi-locks that are parts. */
function coreHandlesIn({ parts }: MultiHandle): readonly Handle[] {
  return parts.flatMap((part) => {
    if (part instanceof HeldTogether) return coreHandlesIn(part);
    return part instanceof Handle ? [part] : [];
  });
}
