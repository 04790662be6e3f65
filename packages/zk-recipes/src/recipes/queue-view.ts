import { LayoutConflictError } from "@holdfast/core";
import { inQueueOrder, isContender, sequenceOf, sequenceRefuseFrom, sortKey } from "../layout/queue-order.js";
import { familyOf } from "../layout/recognise.js";

/** One listing of a lock's children, seen from one of them. */
export interface QueueView {
  /** Place of the own node in Curator's order; -1 when it is not there. */
  readonly position: number;
  /** The child to wait for, and the one before that. */
  readonly predecessor: string | null;
  readonly twoAhead: string | null;
  /** Every child is a contender for this kind of lock. */
  readonly pure: boolean;
}

/**
 * What `own` sees in a listing. Throws `LayoutConflictError` for what would break exclusion or the queue: another kind of
 * lock on the path, or a foreign child that sorts before a contender, which nobody would ever get past.
 */
export function viewQueue(
  lockName: string,
  path: string,
  children: readonly string[],
  own: string,
  base: string,
): QueueView {
  const order = inQueueOrder(children, base);
  const position = order.indexOf(own);
  const foreign = order.filter((name) => !isContender(name, base));
  for (const name of foreign) {
    const family = familyOf(name);
    if (family !== null && family !== "mutex") {
      throw new LayoutConflictError(
        `${lockName}: ${path} is also used as a ${family} (child ${name}); two kinds of lock on one path do not exclude each other, so use another name`,
        { lockName, backend: "zookeeper" },
      );
    }
    if (position > 0 && order.indexOf(name) < position) {
      throw new LayoutConflictError(
        `${lockName}: the foreign child ${name} of ${path} sorts before every contender, so nobody would ever be granted; delete it or use another name`,
        { lockName, backend: "zookeeper" },
      );
    }
  }
  return {
    position,
    predecessor: order[position - 1] ?? null,
    twoAhead: order[position - 2] ?? null,
    pure: foreign.length === 0,
  };
}

/** The number of a new queue node. Throws `LayoutConflictError` where the server's counter is nearly spent. */
export function checkSequence(lockName: string, path: string, node: string, base: string): number {
  const sequence = sequenceOf(node, base);
  if (sequence !== null && sequence >= 0 && sequence < sequenceRefuseFrom) return sequence;
  throw new LayoutConflictError(
    `${lockName}: the sequence counter of ${path} stands at ${sortKey(node, base)}; near 2147483647 the server stops counting and several contenders would hold. Let the path go empty and be removed, or use another name (limit ${sequenceRefuseFrom})`,
    { lockName, backend: "zookeeper" },
  );
}
