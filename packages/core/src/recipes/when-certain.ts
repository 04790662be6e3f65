import type { Hold } from "../grants/hold.js";
import { type LocalBounds, waitLocally } from "../signals/wait-locally.js";

/**
 * Nothing new is built on a hold that is in doubt: waits until it is certain again, and rejects with its
 * `LockLostError` when it is lost instead.
 *
 * `enter` runs in the very tick in which the hold was seen to stand, and its value is the result. What a caller does after
 * an `await` comes too late for that: the hold may have been given back by then.
 */
export async function whenCertain<T>(
  hold: Hold,
  bounds: LocalBounds,
  enter: () => T,
): Promise<Awaited<T> | "given-back" | "too-late"> {
  for (;;) {
    const { state } = hold;
    if (state === "held") return await enter();
    if (state === "lost") throw hold.lossError();
    if (state === "released") return "given-back";
    const woken = await waitLocally(hold.engine, bounds, (wake) => hold.watch(wake));
    if (!woken) return "too-late";
  }
}
