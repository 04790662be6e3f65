import { RedissonObject, type RedissonWait } from "./redisson-object.js";

export interface PermitLease {
  /** Left out the permit stays until it is released. Nothing renews it. */
  readonly leaseMs?: number;
}

/** One `RPermitExpirableSemaphore`. Permits go by their ids, 32 hex digits each; any client may release any. */
export class RedissonPermitSemaphore extends RedissonObject {
  /** `null` when not granted in time. */
  async acquire(options: RedissonWait & PermitLease = {}): Promise<string | null> {
    const [id] = (await this.acquireSeveral(1, options)) ?? [];
    return id ?? null;
  }

  /** All at once. `null` when not granted in time. */
  async acquireSeveral(
    permits: number,
    { waitMs = -1, leaseMs = -1 }: RedissonWait & PermitLease = {},
  ): Promise<string[] | null> {
    const ids = await this.askLong("acquire", waitMs, [permits, waitMs, leaseMs]);
    return ids.length === 0 ? null : ids;
  }

  /** Rejects with an `IllegalArgumentException` when one of them is unknown or over, and then releases none of several. */
  async release(...ids: string[]): Promise<void> {
    await this.ask("release", ids);
  }

  /** How many were released. */
  tryRelease(...ids: string[]): Promise<number> {
    return this.askNumber("tryRelease", ids);
  }

  /** From now on. False when the permit is unknown or over. */
  updateLease(id: string, leaseMs: number): Promise<boolean> {
    return this.askWhether("updateLeaseTime", [id, leaseMs]);
  }

  remainingMs(id: string): Promise<number> {
    return this.askNumber("leaseTime", [id]);
  }

  /** False when a number is set already. */
  trySetPermits(permits: number): Promise<boolean> {
    return this.askWhether("trySetPermits", [permits]);
  }

  /** Free and taken together become so many. */
  async setPermits(permits: number): Promise<void> {
    await this.ask("setPermits", [permits]);
  }

  async addPermits(permits: number): Promise<void> {
    await this.ask("addPermits", [permits]);
  }

  async permits(): Promise<{ readonly free: number; readonly taken: number; readonly total: number }> {
    const [free, taken, total] = await this.ask("permits");
    return { free: Number(free), taken: Number(taken), total: Number(total) };
  }

  delete(): Promise<boolean> {
    return this.askWhether("delete");
  }
}
