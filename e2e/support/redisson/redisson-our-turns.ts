import { appendFile, writeFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import type { AcquireOptions, LockHandle } from "@holdfast/core";
import { multiLock } from "@holdfast/multi-lock";
import type { RedisLocks } from "@holdfast/redis-recipes";
import { readCount } from "../process/contend.js";
import type { RedissonContention, RedissonExclusive, TurnsHad } from "./redisson-contention.js";

const grantWithinMs = 60_000;

export type OurHold = Pick<LockHandle, "token" | "assertHeld" | "release">;

/** Our lock for each of Redisson's exclusive locks, on the same keys; see `RedissonTurns.java`. */
export function acquireOf(
  locks: RedisLocks,
  kind: RedissonExclusive,
  name: string,
): (options: AcquireOptions) => Promise<OurHold> {
  switch (kind) {
    case "plain":
    case "fenced": {
      const mutex = locks.mutex(name);
      return (options) => mutex.acquire(options);
    }
    case "fair": {
      const mutex = locks.fairMutex(name);
      return (options) => mutex.acquire(options);
    }
    case "spin": {
      const mutex = locks.spinMutex(name);
      return (options) => mutex.acquire(options);
    }
    case "write": {
      const { write } = locks.readWriteLock(name);
      return (options) => write.acquire(options);
    }
    case "multi": {
      const all = multiLock([locks.mutex(`${name}:a`), locks.mutex(`${name}:b`)]);
      return (options) => all.acquire(options);
    }
  }
}

export type OurContention = Omit<RedissonContention, "leaseMs"> & { readonly kind: RedissonExclusive };

/**
 * Our side of `RedissonContender.java`: acquires, adds one to a number that nothing but the lock protects, writes a line to the
 * log, and releases. Ends after `grants` grants, or once `forMs` have passed.
 */
export async function takeTurns(locks: RedisLocks, contention: OurContention): Promise<TurnsHad> {
  const { kind, name, grants, forMs = Number.POSITIVE_INFINITY } = contention;
  const acquire = acquireOf(locks, kind, name);
  const startedMs = performance.now();
  let had = 0;
  let longestWaitMs = 0;
  while (had < grants && performance.now() - startedMs < forMs) {
    const askedMs = performance.now();
    const hold = await acquire({ waitMs: grantWithinMs });
    longestWaitMs = Math.max(longestWaitMs, performance.now() - askedMs);
    try {
      await count(contention, hold);
    } finally {
      await hold.release();
    }
    had += 1;
  }
  return { grants: had, longestWaitMs };
}

/** Reads the number first and writes it last, so that two holds lose an update wherever they overlap. */
async function count(
  { counterFile, logFile, label, holdMs = 0 }: OurContention,
  hold: OurHold,
): Promise<void> {
  const before = await readCount(counterFile, label);
  if (holdMs > 0) await delay(holdMs);
  await appendFile(logFile, `${label} ${hold.token ?? "-"} - ${before}\n`);
  await writeFile(counterFile, String(before + 1));
}
