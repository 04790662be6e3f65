import { Handle } from "../grants/handle.js";
import { scopesTracked } from "../scope-store.js";
import { currentFrame, Frame, runInFrame } from "./frames.js";

/**
 * Runs a body that holds several locks. Where scopes are tracked, the code that it calls is in the scope of each of these locks.
 */
export async function runInFrames<T>(handles: readonly Handle[], body: () => PromiseLike<T> | T): Promise<T> {
  if (!scopesTracked()) return await body();
  const frames: Frame[] = [];
  for (const handle of handles) {
    const hold = Handle.holdOf(handle);
    const reentrant = hold.kind === "reentrant-mutex" || hold.kind === "reentrant-read-write-lock";
    frames.push(new Frame(hold, { reentrant, parent: frames.at(-1) ?? currentFrame() }));
  }
  const innermost = frames.at(-1);
  try {
    return await (innermost === undefined ? body() : runInFrame(innermost, body));
  } finally {
    for (const frame of frames) frame.end();
  }
}
