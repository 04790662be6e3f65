import { latchBase, mutexBase, readBase, writeBase } from "./queue-order.js";
import type { LayoutFamily } from "./recognise.js";

/** Whom a contender waits for; both `null` when its turn has come. */
export interface Ahead {
  /** Its end may make us a holder. */
  readonly predecessor: string | null;
  /** Its end makes our predecessor first: told of it, we stand second in time. */
  readonly twoAhead: string | null;
}

/** How Curator decides whose turn it is in one queue, seen from one kind of contender. */
export interface QueueRule {
  readonly family: LayoutFamily;
  /** What its nodes are named with. */
  readonly base: string;
  /** What the whole queue is ordered by. */
  readonly bases: readonly string[];
  /**
   * The second is first when the first is gone: no node ever appears before one that is there. Not so in a read-write
   * queue, where a writer may put a read beside its own node before it goes.
   */
  readonly appendsOnly: boolean;
  /** `position`: the own node's place in `order`, which has it. */
  ahead(order: readonly string[], position: number): Ahead;
}

function firstHolds(order: readonly string[], position: number): Ahead {
  return { predecessor: order[position - 1] ?? null, twoAhead: order[position - 2] ?? null };
}

/** `InterProcessMutex` and `LeaderSelector`. */
export const mutexRule: QueueRule = {
  family: "mutex",
  base: mutexBase,
  bases: [mutexBase],
  appendsOnly: true,
  ahead: firstHolds,
};

/** `LeaderLatch`. */
export const latchRule: QueueRule = {
  family: "leader-latch",
  base: latchBase,
  bases: [latchBase],
  appendsOnly: true,
  ahead: firstHolds,
};

const readWriteBases = [readBase, writeBase];

/** `InterProcessReadWriteLock.writeLock()`: alone at the head, whoever is ahead. */
export const writeRule: QueueRule = {
  family: "read-write-lock",
  base: writeBase,
  bases: readWriteBases,
  appendsOnly: false,
  ahead: (order, position) => ({ predecessor: order[position - 1] ?? null, twoAhead: null }),
};

/**
 * `InterProcessReadWriteLock.readLock()`: no writer ahead. Waits for the nearest writer, where Curator's readers all wait
 * for the first and wake together in vain when another is behind it.
 */
export const readRule: QueueRule = {
  family: "read-write-lock",
  base: readBase,
  bases: readWriteBases,
  appendsOnly: false,
  ahead(order, position) {
    const nearest = order.slice(0, position).findLast((name) => name.includes(writeBase));
    return { predecessor: nearest ?? null, twoAhead: null };
  },
};
