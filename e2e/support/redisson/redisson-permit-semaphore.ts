import { RedissonObject, type RedissonWait } from "./redisson-object.js";

export interface PermitLease {
  /** Without it, the permit stays until it is released. Nothing renews it. */
  readonly leaseMs?: number;
}

/** One `RPermitExpirableSemaphore`. A permit is named by its id of 32 hex digits. Any client may release any permit. */
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

  /** Rejects with an `IllegalArgumentException` when a permit is unknown or over. Of several permits it then releases none. */
  async release(...ids: string[]): Promise<void> {
    await this.ask("release", ids);
  }

  /** How many were released. */
  tryRelease(...ids: string[]): Promise<number> {
    return this.askNumber("tryRelease", ids);
  }

  /** Sets the lease from now on. False when the permit is unknown or over. */
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

  /** Sets the number of permits, free and taken together. */
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
