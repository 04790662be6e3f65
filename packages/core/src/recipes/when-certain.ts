import type { Hold } from "../grants/hold.js";
import { type LocalBounds, waitLocally } from "../signals/wait-locally.js";

/**
 * Nothing new is built on a hold that is in doubt: waits until it is certain again, and rejects with its
 * `LockLostError` when it is lost instead.
 */
export async function whenCertain(
  hold: Hold,
  bounds: LocalBounds,
): Promise<"certain" | "given-back" | "too-late"> {
  for (;;) {
    const { state } = hold;
    if (state === "held") return "certain";
    if (state === "lost") throw hold.lossError();
    if (state === "released") return "given-back";
    const woken = await waitLocally(hold.engine, bounds, (wake) => hold.watch(wake));
    if (!woken) return "too-late";
  }
}
