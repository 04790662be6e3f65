import type { InspectOptions, LockSnapshot } from "@holdfast/core";
import type { Attempt, AttemptListener, GrantRequest, LockDriver } from "@holdfast/core/driver";

/** What the driver does for one kind of lock; `key` is the name as it is in Redis, behind the provider's prefix. */
export interface Recipe extends Pick<LockDriver, "announce" | "attemptBeside"> {
  attempt(request: GrantRequest, key: string, listener: AttemptListener): Attempt;
  inspect(name: string, key: string, options: InspectOptions, limit?: number): Promise<LockSnapshot>;
  /** Asks holders of ours to let go; `false` when there is none that could be told. */
  requestRevoke?(name: string, key: string): Promise<boolean>;
  /** An operator frees it under its holder, who is told; `false` when nobody held it. */
  force?(name: string, key: string): Promise<boolean>;
  watch?(key: string, changed: () => void): () => void;
  /** Of a semaphore whose limit is kept in Redis; `null` where none is set. */
  limit?(name: string, key: string): Promise<number | null>;
}
