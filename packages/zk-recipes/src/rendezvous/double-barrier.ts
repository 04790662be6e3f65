import type { BarrierEntry, DoubleBarrierStore, WaitBounds } from "@holdfast/core/internal";
import { afterPending, awaitValue } from "@holdfast/core/internal";
import type { RetryingRequests } from "../recipes/requests/retrying-requests.js";
import { ZooKeeperBarrierEntry } from "./barrier-entry.js";
import { Entrance } from "./entrance.js";

/**
 * Curator's `DistributedDoubleBarrier` on the same nodes: an ephemeral `<uuid>` for each member and a persistent `ready`
 * made by each member that sees the last one come. Where it differs from Curator:
 *
 * - No member passes because it was woken, as in released versions of Curator up to 5.9.0: it looks again.
 * - A `ready` that a crashed round has left behind lets no member pass, and the next full round replaces it. It counts
 *   while one member that was there before it still is.
 * - Breaks of contact are sat out. A member whose session ends before it has passed enters again under the same
 *   name once the old node is gone, so it is never counted twice; after it has passed, its membership is `lost`.
 */
export class ZooKeeperDoubleBarrier implements DoubleBarrierStore {
  readonly #calls: RetryingRequests;
  readonly #name: string;
  readonly #data: Uint8Array;

  constructor(calls: RetryingRequests, name: string, data: Uint8Array) {
    this.#calls = calls;
    this.#name = name;
    this.#data = data;
  }

  async enter(parties: number, bounds: WaitBounds): Promise<BarrierEntry> {
    const calls = this.#calls;
    // The node of a call that was given up would make one member two.
    await afterPending(calls.engine, bounds, calls.pathOf(this.#name));
    const entrance = new Entrance(calls, this.#name, parties, this.#data);
    try {
      await awaitValue(calls.engine, bounds, entrance, (full) => full);
    } catch (error) {
      // Once we have begun to let the others start, there is no way back: they count on us.
      if (calls.engine.closed || !(await entrance.opened())) {
        await entrance.withdraw();
        throw error;
      }
    }
    return new ZooKeeperBarrierEntry(calls, this.#name, entrance.place());
  }
}
