/**
 * For behaviours 27 to 64: what exists in Java alone, or differs because we name owners differently. `complete.test.ts` prints
 * it.
 */
export const javaOnly: Readonly<Record<number, string>> = {
  30: "the two other tests of drift are about Redisson's own threads; ours: each place in the queue",
  32: "a waiter's thread that ends; ours: a client that goes silent, or what Java leaves behind",
  34: "the same threads; ours: the same clients",
  37: "the thread as owner; ours: a scope, or a downgrade",
  39: "threads; ours: readers, each with an owner of its own",
  42: "isLocked of each side; ours: inspect, which names each holder and its side",
  44: "counts in the hash; ours: counts of handles in this process, the hash has 1 of each",
  45: "forceUnlock of each side; ours: an operator frees whichever side holds",
  52: "an acquire of zero permits succeeds; ours: it is refused as an argument",
  53: "drainPermits, releaseIfExists, and a release of permits that were never taken; ours: a permit is given back by its handle alone",
  54: "release by id, and so unknown ids and ids of a wrong length; ours: a handle that is released again",
  56: "release(list) does nothing when one permit is missing; ours: it gives back what is there, and says lost",
  57: "updateLeaseTime; ours: renewals, and confirm()",
  58: "available() below zero; ours: inspect().available stops at 0, the key has the negative number",
  61: "delete() by the latch object; ours: what Java's delete leaves",
  62: "threads and a wait of -1; ours: tryAcquire",
  63: "tokens 1, 2, 3 and lockAndGetToken; ours: rising tokens from the server's clock, on every handle",
  64: "the thread as owner; ours: a scope, with detectDeadlocks",
};
