import type { AcquireOptions, LockHandle, PermitHandle } from "@holdfast/core";
import type { ZooKeeperLocks } from "@holdfast/zk-recipes";
import { permitsLabel } from "./support/believers.js";

/** What all kinds of grants have in common. */
export type Held = Pick<LockHandle, "name" | "owner" | "token" | "state" | "release" | "confirm" | "lost"> &
  Partial<Pick<LockHandle, "mode" | "revokeRequested">> &
  Partial<Pick<PermitHandle, "permits">>;

export interface Lockable {
  acquire(options?: AcquireOptions): Promise<Held>;
  tryAcquire(options?: AcquireOptions): Promise<Held | null>;
  requestRevoke?(): Promise<boolean>;
}

/** One kind of lock, in most cases an exclusive one. */
export interface Recipe {
  readonly name: string;
  of(locks: ZooKeeperLocks, path: string): Lockable;
  /** Waiters have nodes of their own, in the order of their grants. */
  readonly queue: boolean;
  /** The number of permits, if the recipe has permits. */
  readonly limit?: number;
}

/** Makes a campaign look like an acquire. */
function electionAs(locks: ZooKeeperLocks, path: string, layout: "latch" | "selector"): Lockable {
  const election = locks.leaderElection(path, { layout });
  return {
    acquire: (options) => election.campaign(options),
    async tryAcquire(options) {
      try {
        return await election.campaign({ ...options, waitMs: 0 });
      } catch (error) {
        if ((error as Error).name === "AcquireTimeoutError") return null;
        throw error;
      }
    },
  };
}

export const mutex: Recipe = { name: "mutex", queue: true, of: (locks, path) => locks.mutex(path) };

/** Semaphores that are used as exclusive locks. */
export const permitRecipes: readonly Recipe[] = [
  { name: "semaphore of one", queue: true, of: (locks, path) => locks.semaphore(path, 1) },
  {
    name: "batch of permits",
    queue: true,
    limit: 3,
    of(locks, path) {
      const semaphore = locks.semaphore(path, 3);
      const batch = { permits: 3, label: permitsLabel(3) };
      return {
        acquire: (options) => semaphore.acquire({ ...options, ...batch }),
        tryAcquire: (options) => semaphore.tryAcquire({ ...options, ...batch }),
      };
    },
  },
  { name: "semaphore mutex", queue: true, of: (locks, path) => locks.semaphoreMutex(path) },
];

export const writeLock: Recipe = {
  name: "write lock",
  queue: true,
  of: (locks, path) => locks.readWriteLock(path).write,
};

export const electionsAndNaive: readonly Recipe[] = [
  { name: "leader latch", queue: true, of: (locks, path) => electionAs(locks, path, "latch") },
  { name: "leader selector", queue: true, of: (locks, path) => electionAs(locks, path, "selector") },
  { name: "naive mutex", queue: false, of: (locks, path) => locks.naiveMutex(path) },
];

/** Draws one of the recipes of schedules: the mutex as often as all others together. */
export function drawRecipe(random: () => number): Recipe {
  const others = [readWriteLock, permits, writeLock, ...permitRecipes, ...electionsAndNaive];
  return random() < 0.5 ? mutex : (others[Math.floor(random() * others.length)] as Recipe);
}

/** A recipe with its own operations. As an exclusive lock it is `writeLock`. */
export const readWriteLock: Recipe = {
  name: "read-write lock",
  queue: true,
  of: (locks, path) => locks.readWriteLock(path).write,
};

export const permits: Recipe = {
  name: "semaphore of three",
  queue: true,
  limit: 3,
  of: (locks, path) => locks.semaphore(path, 3),
};
