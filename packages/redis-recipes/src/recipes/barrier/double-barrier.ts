import type { ProviderClosedError } from "@holdfast/core";
import {
  awaitValue,
  type BarrierSeat,
  type DoubleBarrierStore,
  type WaitBounds,
} from "@holdfast/core/internal";
import type { RetryingRequests } from "../requests/retrying-requests.js";
import { type BarrierTimes, Seat } from "./seat.js";

/**
 * A double barrier, which Redisson does not have: the sorted set `holdfast_double_barrier_members:{name}` says who is in and until
 * when that counts, the key `holdfast_double_barrier:{name}` that it was full. Members say each `heartbeatMs` that they are
 * there; one that is silent for `aliveMs` is out.
 */
export class RedisDoubleBarrier implements DoubleBarrierStore {
  readonly #runs: RetryingRequests;
  readonly #name: string;
  readonly #freshMember: () => string;
  readonly #times: BarrierTimes;

  /** `name` with the provider's prefix. */
  constructor(runs: RetryingRequests, name: string, freshMember: () => string, times: BarrierTimes) {
    this.#runs = runs;
    this.#name = name;
    this.#freshMember = freshMember;
    this.#times = times;
  }

  async enter(parties: number, bounds: WaitBounds): Promise<BarrierSeat> {
    const seat = new Seat(this.#runs, this.#name, this.#freshMember(), parties, this.#times);
    const { engine } = this.#runs;
    const entering = {
      providerClosed: (_error: ProviderClosedError): void => {
        void seat.giveUp().catch(() => {});
      },
    };
    engine.waiting.add(entering);
    try {
      await awaitValue(engine, bounds, seat, (full) => full);
    } catch (error) {
      await seat.withdraw();
      throw error;
    } finally {
      engine.waiting.delete(entering);
    }
    seat.passed();
    return seat;
  }
}
