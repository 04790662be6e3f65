import type { BarrierEntry, DoubleBarrierStore, WaitBounds } from "@holdfast/core/internal";
import { afterPending, awaitValue } from "@holdfast/core/internal";
import type { RetryingRequests } from "../recipes/requests/retrying-requests.js";
import { ZooKeeperBarrierEntry } from "./barrier-entry.js";
import { Entrance } from "./entrance.js";

/**
 * Curator's `DistributedDoubleBarrier` on the same nodes: an ephemeral `<uuid>` for each member, and a persistent
 * `ready`, made by each member that sees the last member come. It differs from Curator in these points:
 *
 * - No member passes only because it was woken, as in released versions of Curator up to 5.9.0: it looks again.
 * - A member that gives up and the last member that comes exclude each other: see `Entrance`.
 * - A `ready` that a crashed round has left behind lets no member pass, and the next full round replaces it. It counts as
 *   long as one member that was there before it is still there.
 * - A member waits through breaks of contact. If its session ends before it has passed, it enters again under the same
 *   name once the old node is gone, so it is never counted twice. If its session ends after it has passed, its membership
 *   is `lost`.
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
    // The node of an earlier call that was given up may still be there, and would count one member twice.
    await afterPending(calls.engine, bounds, calls.pathOf(this.#name));
    const entrance = new Entrance(calls, this.#name, parties, this.#data);
    try {
      await awaitValue(calls.engine, bounds, entrance, (full) => full);
    } catch (error) {
      // Once the round has begun there is no way back, because the others count on us.
      if (!(await entrance.withdraw())) throw error;
    }
    return new ZooKeeperBarrierEntry(calls, this.#name, entrance.place());
  }
}
