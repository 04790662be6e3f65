import type { Hold } from "../grants/hold.js";
import { type LocalBounds, waitLocally } from "../signals/wait-locally.js";

/**
 * Calls `enter` when the hold is certain. While the hold is in doubt it waits, and rejects with the hold's `LockLostError`
 * when the hold is lost instead.
 *
 * `enter` runs in the same synchronous step in which the hold was found to stand, and its value is the result. Code of the
 * caller after an `await` would be too late: the hold may have been given back by then.
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
