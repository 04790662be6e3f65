import { RedissonObject, type RedissonWait } from "./redisson-object.js";

/** One `RSemaphore`. Its permits have no owners. */
export class RedissonSemaphore extends RedissonObject {
  /** False when not granted in time. */
  async acquire(permits = 1, { waitMs = -1 }: RedissonWait = {}): Promise<boolean> {
    return (await this.askLong("acquire", waitMs, [permits, waitMs]))[0] === "true";
  }

  async release(permits = 1): Promise<void> {
    await this.ask("release", [permits]);
  }

  /** False when a number is set already. Without `timeToLiveMs` it stays. */
  trySetPermits(permits: number, options: { readonly timeToLiveMs?: number } = {}): Promise<boolean> {
    return this.askWhether("trySetPermits", [permits, options.timeToLiveMs ?? -1]);
  }

  /** `permits` may be negative. */
  async addPermits(permits: number): Promise<void> {
    await this.ask("addPermits", [permits]);
  }

  /** Resolves to how many permits it took away. */
  drainPermits(): Promise<number> {
    return this.askNumber("drainPermits");
  }

  availablePermits(): Promise<number> {
    return this.askNumber("availablePermits");
  }

  delete(): Promise<boolean> {
    return this.askWhether("delete");
  }
}
