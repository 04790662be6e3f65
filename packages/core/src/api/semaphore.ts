import type { AcquireOptions, ScopeContext, WithLockOptions } from "./acquiring.js";
import type { LockHandle } from "./handle.js";
import type { InspectOptions, SemaphoreSnapshot } from "./inspect.js";

export interface PermitHandle extends Omit<LockHandle, "mode"> {
  readonly permits: number;
  /** Backend ids, one for each permit: Curator lease node names, Redisson permit ids. */
  readonly permitIds: readonly string[];
}

export interface Semaphore {
  readonly name: string;

  /** All permits or none; one handle for the batch. */
  acquire(options?: AcquireOptions & { permits?: number }): Promise<PermitHandle>;
  tryAcquire(options?: AcquireOptions & { permits?: number }): Promise<PermitHandle | null>;
  withPermit<T>(
    options: WithLockOptions & { permits?: number },
    body: (permit: PermitHandle, context: ScopeContext) => PromiseLike<T> | T,
  ): Promise<T>;

  /** The limit as the backend has it, or as given here where it keeps none (Curator). */
  limit(): Promise<number>;
  inspect(options?: InspectOptions): Promise<SemaphoreSnapshot>;
}
