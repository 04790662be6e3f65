/**
 * The behaviours of Curator's lock recipes that our recipes must have too, by number. A test says which one it shows by
 * the number in front of its title: `"9: two clients never hold at once"`. `complete.test.ts` compares the two.
 */
export interface Behaviour {
  readonly what: string;
  /** The part that exists in Java alone. It is printed, and the test shows what comes nearest to it. */
  readonly javaOnly?: string;
  /** The folder of this repository that will hold what it is about. Until the folder exists, no test is required. */
  readonly awaits?: string;
}

export const register: Readonly<Record<number, Behaviour>> = {
  // Every exclusive lock: mutex, re-entrant mutex, semaphore mutex, multi lock.
  1: { what: "a scope holds the lock and gives it back" },
  2: { what: "holder and waiter outlive a restart of the server" },
  3: { what: "the end of the holder's session hands the lock to a waiter of the same client" },
  4: { what: "the lock's path vanishes after use" },
  5: { what: "locks keep to their namespace" },
  6: {
    what: "many callers of one lock object go in one at a time",
    javaOnly: "threads; ours: callers in one process",
  },
  7: {
    what: "others time out while the holder enters again",
    javaOnly: "the thread as owner; ours: an owner that is named, or a scope",
  },
  8: { what: "a lock entered three times is held until it was left three times" },
  9: { what: "two clients take turns and never hold together" },

  // The mutex.
  10: {
    what: "writes nothing that strict rules for a recipe's path forbid",
    javaOnly:
      "rules that the client itself checks (its Schema); ours: what is seen on the wire and in the tree",
  },
  11: { what: "a holder that is asked to let go hears of it, and the next one gets the lock" },
  12: {
    what: "a persistent queue node keeps its place beyond its session",
    javaOnly:
      "queue nodes made by a LockInternalsDriver of the user's; ours: such a node of another client is respected",
  },
  13: { what: "the multi lock releases the rest when one release fails" },
  14: { what: "the multi lock gives back what it has when one acquire fails" },
  15: { what: "a listing without the path leaves no own node behind" },
  16: { what: "a failing clean-up does not hide the first error" },
  17: { what: "parents get the ACL that was asked for them" },
  18: { what: "a parent's ACL may differ from that of the nodes below it" },

  // Read-write lock.
  19: { what: "readers and writers are listed apart" },
  20: { what: "there is no upgrade from read to write" },
  21: {
    what: "a downgrade is the writer's alone",
    javaOnly: "the thread as owner; ours: an owner that is named, or a scope",
  },
  22: { what: "write, read, leave write, leave read" },
  23: { what: "a waiting writer stays out during a downgrade" },
  24: { what: "writers are alone and readers overlap, under load" },
  25: { what: "node data is fixed when the lock is made" },
  26: { what: "a handle tells that its node is gone with the session" },

  // Semaphore.
  27: { what: "acquires go on after the server was lost in the middle of them" },
  28: { what: "a raised limit wakes a waiter at once" },
  29: { what: "a client that closes frees its permits" },
  30: { what: "batches of permits never exceed the limit" },
  31: { what: "all permits are in use at the peak, and every caller is served" },
  32: { what: "permits come back in any order" },
  33: { what: "many callers of one semaphore object" },
  34: { what: "with one permit the second caller hears that none is free" },
  35: { what: "a permit given back can be had again after a time-out" },
  36: { what: "as many participants as permits" },
  37: { what: "a waiter whose lease is deleted leaves nothing behind" },
  38: {
    what: "a waiter that gives up leaves no lease",
    javaOnly: "the interrupt of a thread; ours: an abort signal",
  },
  39: { what: "one holder after the whole ensemble was replaced, none before" },
  40: { what: "many clients go on after the ensemble stopped and started" },

  // Leader latch.
  41: { what: "asking for the leader of an election without candidates" },
  42: { what: "a watched node that vanishes during a reconnect" },
  43: { what: "the election's path vanishes while contact is broken" },
  44: { what: "no second leader after a session was lost and made anew" },
  45: { what: "one leader whatever candidates leave and stand again" },
  46: { what: "a node that vanishes between listing and watch" },
  47: { what: "the connection policy decides about leadership in suspense" },
  48: { what: "closing before there was a connection; starting without a server" },
  49: { what: "starting and closing at once leaves no node" },
  50: { what: "the one in the middle leaves without electing its successor" },
  51: { what: "a leader hears of its end once" },
  52: { what: "a path that is none is refused" },

  // Leader selector.
  53: {
    what: "an abort ends leadership and gives it back",
    javaOnly: "the interrupt of a thread; ours: an abort signal",
  },
  54: {
    what: "an abort during an outage leaves no node once contact is back",
    javaOnly: "the interrupt of a thread; ours: an abort signal",
  },
  55: { what: "standing again after an abort", javaOnly: "the interrupt of a thread; ours: an abort signal" },
  56: { what: "a loss between grant and body keeps the body from running" },
  57: { what: "every candidate leads once before any leads twice" },
  58: { what: "another one leads when session, server or client ends" },
  59: { what: "a flapping connection leaves no node" },

  // Rendezvous and values.
  60: { what: "barriers: absent, crashed, crowded, woken for nothing" },
  61: { what: "shared count: first seed, versions, changes heard after a reconnect" },
  62: { what: "atomic long: malformed, absent, forced, contended" },

  // What lies under every recipe.
  63: { what: "a delete is repeated until it is done, and no longer" },
  64: {
    what: "a create with a lost answer is found again, and never a dead session's",
    javaOnly: "the interrupt of a thread; ours: an abort signal",
  },
  65: {
    what: "suspended, lost after the session's time, connected",
    javaOnly: "a percentage of the session's time that a user sets; ours: a fixed margin",
  },
  66: {
    what: "parents are containers unless they were made otherwise before",
    javaOnly:
      "an option for parents of another kind; ours: parents that are there already stay what they are",
  },
};
