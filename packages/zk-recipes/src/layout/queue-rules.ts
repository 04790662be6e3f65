import { LayoutConflictError } from "@holdfast/core";
import {
  latchBase,
  mutexBase,
  readBase,
  sequenceOf,
  sequenceRefuseFrom,
  sortKey,
  writeBase,
} from "./queue-order.js";
import { familyOf, type LayoutFamily } from "./recognise.js";

/** The nodes that a contender waits for; both are `null` when its turn has come. */
export interface Ahead {
  /** The node whose end may make us a holder. */
  readonly predecessor: string | null;
  /** The node whose end makes our predecessor first. A watch on it tells us in time that we stand second. */
  readonly twoAhead: string | null;
}

/** How Curator decides whose turn it is in one queue, seen from one kind of contender. */
export interface QueueRule {
  readonly family: LayoutFamily;
  /** The base name of its own nodes. */
  readonly base: string;
  /** The base names that order the whole queue. */
  readonly bases: readonly string[];
  /**
   * Whether no node ever appears before one that is there already, so that the second is first when the first is gone.
   * This is not so in a read-write queue, where a writer may put a read beside its own node before it goes.
   */
  readonly appendsOnly: boolean;
  /** The nodes ahead of the own node, which is at `position` in `order`. */
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

/** `InterProcessReadWriteLock.writeLock()`: a writer holds alone, at the head. It waits for readers and writers alike. */
export const writeRule: QueueRule = {
  family: "read-write-lock",
  base: writeBase,
  bases: readWriteBases,
  appendsOnly: false,
  ahead: (order, position) => ({ predecessor: order[position - 1] ?? null, twoAhead: null }),
};

/**
 * `InterProcessReadWriteLock.readLock()`: a reader holds when no writer is ahead of it. It waits for the nearest writer
 * ahead. Curator's readers all wait for the first writer, and wake together in vain when another writer is behind that
 * one.
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

/** One listing of a lock's children, as one of them sees it. */
export interface QueueView extends Ahead {
  /** The own node is in the listing. */
  readonly present: boolean;
  /** The end of the predecessor alone makes it our turn. */
  readonly nextIfGone: boolean;
  /** No node can come to stand between the predecessor and `own`, nor ahead of the predecessor. */
  readonly orderIsFinal: boolean;
  /** The first contender, which is a holder. */
  readonly head: string | null;
}

/**
 * What `own` sees in a listing. Throws `LayoutConflictError` for children that would break exclusion or the queue: nodes
 * of another kind of lock on the path, or a foreign child that sorts before a contender and would block all contenders
 * behind it for ever.
 */
export function viewQueue(
  lockName: string,
  path: string,
  children: readonly string[],
  own: string,
  rule: QueueRule,
): QueueView {
  const { order, numbers, foreign } = queueOf(children, rule.bases);
  const position = positionOf(own, order, numbers, rule.bases);
  for (const name of foreign) {
    const family = familyOf(name);
    if (family !== null && family !== rule.family) {
      throw new LayoutConflictError(
        `${lockName}: ${path} is also used as a ${family} (child ${name}); two kinds of lock on one path do not exclude each other, so use another name`,
        { lockName, backend: "zookeeper" },
      );
    }
    if (position >= 0 && sortKey(name, ...rule.bases) <= sortKey(own, ...rule.bases)) {
      throw new LayoutConflictError(
        `${lockName}: the foreign child ${name} of ${path} sorts before every contender, so no contender would ever be granted; delete it or use another name`,
        { lockName, backend: "zookeeper" },
      );
    }
  }
  const head = order[0] ?? null;
  const orderIsFinal = rule.appendsOnly && foreign.length === 0;
  const nextIfGone = orderIsFinal && position === 1;
  if (position < 0)
    return { present: false, predecessor: null, twoAhead: null, nextIfGone, orderIsFinal, head };
  return { present: true, nextIfGone, orderIsFinal, head, ...rule.ahead(order, position) };
}

/** What all contenders see alike in one listing. */
interface Queue {
  readonly bases: readonly string[];
  /**
   * The contenders, in the order of their numbers. The numbers have ten digits, so this is also the order of the texts,
   * by which Curator sorts.
   */
  readonly order: readonly string[];
  readonly numbers: Float64Array;
  /** The other children. */
  readonly foreign: readonly string[];
}

/** The queue of each listing. Many waiters look at one listing, and it is sorted once for all waiters of a kind. */
const known = new WeakMap<readonly string[], Queue>();

function queueOf(children: readonly string[], bases: readonly string[]): Queue {
  const before = known.get(children);
  if (before?.bases === bases) return before;
  const { length } = children;
  const foreign: string[] = [];
  const numbers = new Float64Array(length);
  let count = 0;
  for (let i = 0; i < length; i++) {
    const name = children[i] as string;
    const number = numberOf(name, bases);
    if (number === null) foreign.push(name);
    // Each number carries its index in the listing. Numbers alone are sorted without a call for each pair, and equal ones
    // stay as listed.
    else numbers[count++] = number * length + i;
  }
  const sorted = numbers.subarray(0, count).sort();
  const order = new Array<string>(count);
  for (let i = 0; i < count; i++) {
    const each = sorted[i] as number;
    order[i] = children[each % length] as string;
    sorted[i] = Math.floor(each / length);
  }
  const queue = { bases, order, numbers: sorted, foreign };
  known.set(children, queue);
  return queue;
}

/** The index of `own` in `order`; -1 when it is not in the queue. */
function positionOf(
  own: string,
  order: readonly string[],
  numbers: Float64Array,
  bases: readonly string[],
): number {
  const number = numberOf(own, bases);
  if (number === null) return -1;
  let from = 0;
  for (let to = numbers.length; from < to; ) {
    const middle = (from + to) >> 1;
    if ((numbers[middle] as number) < number) from = middle + 1;
    else to = middle;
  }
  while (numbers[from] === number && order[from] !== own) from++;
  return numbers[from] === number ? from : -1;
}

export const zero = 0x30;

/** The number that the server gave a contender: the ten digits behind a base name. `null` for any other name. */
export function numberOf(name: string, bases: readonly string[]): number | null {
  const start = name.length - 10;
  // A loop, because closures for each child made a quarter of the garbage of a hand-off among 128 owners.
  let hasBase = false;
  for (const base of bases) hasBase ||= name.endsWith(base, start);
  if (!hasBase) return null;
  let number = 0;
  for (let i = start; i < name.length; i++) {
    const digit = name.charCodeAt(i) - zero;
    if (digit < 0 || digit > 9) return null;
    number = number * 10 + digit;
  }
  return number;
}

/** The number of a new queue node. Throws `LayoutConflictError` when the server's counter is nearly at its end. */
export function checkSequence(
  lockName: string,
  path: string,
  node: string,
  rule: Pick<QueueRule, "bases">,
): number {
  const sequence = sequenceOf(node, ...rule.bases);
  if (sequence !== null && sequence >= 0 && sequence < sequenceRefuseFrom) return sequence;
  throw new LayoutConflictError(
    `${lockName}: the sequence counter of ${path} stands at ${sortKey(node, ...rule.bases)}; near 2147483647 the server stops counting and several contenders would hold. Let the path go empty and be removed, or use another name (limit ${sequenceRefuseFrom})`,
    { lockName, backend: "zookeeper" },
  );
}
