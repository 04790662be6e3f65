/** Curator's ways to be the only one; see `Turns.java`. `multiLock` takes the mutexes `a` and `b` under the path. */
export type ExclusiveRecipe = "mutex" | "semaphoreMutex" | "write" | "multiLock" | "latch" | "selector";

export interface SemaphoreContention {
  readonly path: string;
  readonly maxLeases: number;
  /** Empty at first; each holder has one file for each permit in it while it holds. */
  readonly folder: string;
  readonly grants: number;
  /** Takes one permit, then two, up to so many, and from one again. Default 1. */
  readonly mostAtOnce?: number;
  readonly label: string;
}

export interface ReadWriteContention {
  readonly path: string;
  /** A number that nothing but the lock protects. */
  readonly counterFile: string;
  /** Empty at first; each holder has a file in it while it holds. */
  readonly folder: string;
  readonly turns: number;
  /** Every so many turns it writes; in the others it reads. */
  readonly writeEvery: number;
  /** Whether it becomes a reader after each write. Curator up to 5.4.0 lets a writer in meanwhile. Default false. */
  readonly downgrade?: boolean;
  readonly label: string;
}
