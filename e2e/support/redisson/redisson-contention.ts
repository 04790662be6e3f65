import type { RedissonLockKind } from "./redisson-lock.js";

/** Redisson's exclusive locks; see `RedissonTurns.java`. `multi` takes the locks `<name>:a` and `<name>:b`. */
export type RedissonExclusive = Exclude<RedissonLockKind, "read"> | "fenced" | "multi";

export interface RedissonContention {
  readonly name: string;
  /** A number that nothing but the lock protects. */
  readonly counterFile: string;
  /** Gets one line for each grant of any contender: `label token - countBefore`. */
  readonly logFile: string;
  /** The most grants that it takes. */
  readonly grants: number;
  /** After this time it asks for no further grant. Default: as long as the request may take. */
  readonly forMs?: number;
  /** How long each grant is held, besides the time that counting takes. Default 0. */
  readonly holdMs?: number;
  /** Without it, the watchdog renews the hold. */
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
  /** The number of permits, which has to be set already. */
  readonly limit: number;
  /** A folder that is empty at first. Each holder has one file in it for each of its permits while it holds. */
  readonly folder: string;
  readonly grants: number;
  /** It takes one permit, then two, up to this number, and then one again. Default 1. */
  readonly mostAtOnce?: number;
  readonly label: string;
}

export interface RedissonReadWriteContention {
  readonly name: string;
  /** A number that nothing but the lock protects. */
  readonly counterFile: string;
  /** A folder that is empty at first. Each holder has a file in it while it holds. */
  readonly folder: string;
  readonly turns: number;
  /** It writes in every `writeEvery`-th turn, and reads in the others. */
  readonly writeEvery: number;
  /** Whether it becomes a reader after each write. Default false. */
  readonly downgrade?: boolean;
  readonly label: string;
}
