/** Curator's exclusive locks; see `Turns.java`. `multiLock` takes the mutexes `a` and `b` under the path. */
export type ExclusiveRecipe = "mutex" | "semaphoreMutex" | "write" | "multiLock" | "latch" | "selector";

export interface SemaphoreContention {
  readonly path: string;
  readonly maxLeases: number;
  /** A folder that is empty at first. Each holder has one file in it for each of its permits while it holds. */
  readonly folder: string;
  readonly grants: number;
  /** It takes one permit, then two, up to this number, and then one again. Default 1. */
  readonly mostAtOnce?: number;
  readonly label: string;
}

export interface ReadWriteContention {
  readonly path: string;
  /** A number that nothing but the lock protects. */
  readonly counterFile: string;
  /** A folder that is empty at first. Each holder has a file in it while it holds. */
  readonly folder: string;
  readonly turns: number;
  /** It writes in every `writeEvery`-th turn, and reads in the others. */
  readonly writeEvery: number;
  /** Whether it becomes a reader after each write. Curator up to 5.4.0 lets a writer in between. Default false. */
  readonly downgrade?: boolean;
  readonly label: string;
}
