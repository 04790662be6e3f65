import type { RedissonLockKind } from "./redisson-lock.js";

/** Redisson's ways to be the only one; see `RedissonTurns.java`. `multi` takes the locks `<name>:a` and `<name>:b`. */
export type RedissonExclusive = Exclude<RedissonLockKind, "read"> | "fenced" | "multi";

export interface RedissonContention {
  readonly name: string;
  /** A number that nothing but the lock protects. */
  readonly counterFile: string;
  /** Grows by one line for each grant of anybody: `label token - countBefore`. */
  readonly logFile: string;
  /** At most so many. */
  readonly grants: number;
  /** No grant is asked for after so long. Default: as long as the request may take. */
  readonly forMs?: number;
  /** How long each grant is held, besides the time that counting takes. Default 0. */
  readonly holdMs?: number;
  /** Left out the watchdog renews. */
  readonly leaseMs?: number;
  readonly label: string;
}

export interface TurnsHad {
  readonly grants: number;
  /** The longest wait for one grant. */
  readonly longestWaitMs: number;
}

export interface RedissonSemaphoreContention {
  readonly name: string;
  /** That number is to be set already. */
  readonly limit: number;
  /** Empty at first; each holder has one file for each permit in it while it holds. */
  readonly folder: string;
  readonly grants: number;
  /** Takes one permit, then two, up to so many, and from one again. Default 1. */
  readonly mostAtOnce?: number;
  readonly label: string;
}

export interface RedissonReadWriteContention {
  readonly name: string;
  /** A number that nothing but the lock protects. */
  readonly counterFile: string;
  /** Empty at first; each holder has a file in it while it holds. */
  readonly folder: string;
  readonly turns: number;
  /** Every so many turns it writes; in the others it reads. */
  readonly writeEvery: number;
  /** Whether it becomes a reader after each write. Default false. */
  readonly downgrade?: boolean;
  readonly label: string;
}
