import { performance } from "node:perf_hooks";
import type { LockHandle, PermitHandle } from "@holdfast/core";
import type { RedisLocks } from "@holdfast/redis-recipes";

export type Held = LockHandle | PermitHandle;

/**
 * What the holder of one handle was notified of, and when. The handle is not polled: a read of its state could itself bring
 * about the loss, which must come without that.
 */
export class WatchedHold {
  readonly handle: Held;
  readonly grantedMs: number = performance.now();
  /** `Infinity` until the notice comes, like `lostMs`. */
  doubtedMs: number = Number.POSITIVE_INFINITY;
  lostMs: number = Number.POSITIVE_INFINITY;
  recovered = false;

  constructor(locks: RedisLocks, handle: Held) {
    this.handle = handle;
    const { name } = handle;
    handle.lost.addEventListener("abort", () => {
      this.lostMs = performance.now();
    });
    locks.events.on("uncertain", (event) => {
      if (event.name === name) this.doubtedMs = Math.min(this.doubtedMs, performance.now());
    });
    locks.events.on("recovered", (event) => {
      if (event.name === name) this.recovered = true;
    });
  }

  get lost(): boolean {
    return this.lostMs !== Number.POSITIVE_INFINITY;
  }
}
