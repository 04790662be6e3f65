import { latchChannel, prefixed } from "./names.js";

/**
 * Redisson's channels. Redisson's subscribers read every message as a decimal number and fail on anything else, so only the
 * messages of `redissonMessages` and counts of permits are published on them.
 */
export const redissonChannels = {
  /** A mutex was freed. */
  mutex: (name: string): string => prefixed("redisson_lock__channel", name),
  /** A fair lock was freed and this owner is next. */
  fairWaiter: (name: string, owner: string): string => `${prefixed("redisson_lock__channel", name)}:${owner}`,
  readWrite: (name: string): string => prefixed("redisson_rwlock", name),
  /** Both kinds of semaphore; the message is the number of free permits, never below zero. */
  semaphore: (name: string): string => prefixed("redisson_sc", name),
  latch: (name: string): string => latchChannel(name),
} as const;

export const redissonMessages = {
  /** Mutex, fair lock: one waiter of each JVM tries again. */
  freed: "0",
  /** Read-write lock, freed by its last reader: one waiter of each JVM tries again. */
  freedByReader: "0",
  /** Read-write lock, freed or downgraded by its writer: every waiter tries again. */
  freedByWriter: "1",
  /** Countdown latch: the count is zero. */
  latchOpen: "0",
  /** Countdown latch: a new count was set, or the latch deleted. */
  latchSet: "1",
} as const;

/**
 * With which command scripts publish on Redisson's channels, to match how the Java clients of the fleet subscribe. `both` wakes a
 * mixed fleet.
 */
export type RedissonPublish = "publish" | "spublish" | "both" | "none";

/** The start of every grant channel's name. ACL users need `&holdfast_grant:*`. */
export const grantChannelPrefix = "holdfast_grant:";

/** The one channel of a provider, however many locks it waits for. Always plain, also in a cluster. */
export function grantChannel(uuid: string): string {
  return grantChannelPrefix + uuid;
}

/**
 * Channels for what Redisson does not have. They are plain unless stated otherwise. A message only says that the receiver should
 * look again.
 */
export const ourChannels = {
  /**
   * Asks all holders of permits of a semaphore, of either kind, to release them. Sharded where Redisson's channels are. Databases
   * of one server share its channels, so the database is part of the name: holders in another database have permits of another
   * semaphore.
   */
  permitsWanted: (name: string, db = 0): string =>
    prefixed(db === 0 ? "holdfast_permits_wanted" : `holdfast_permits_wanted_${db}`, name),
  election: (name: string): string => prefixed("holdfast_election_changed", name),
  barrier: (name: string): string => prefixed("holdfast_barrier_changed", name),
  doubleBarrier: (name: string): string => prefixed("holdfast_double_barrier_changed", name),
} as const;
