import { LayoutConflictError } from "@holdfast/core";
import {
  inQueueOrder,
  isContender,
  sequenceOf,
  sequenceRefuseFrom,
  sortKey,
} from "../../layout/queue-order.js";
import type { Ahead, QueueRule } from "../../layout/queue-rules.js";
import { familyOf } from "../../layout/recognise.js";

/** One listing of a lock's children, seen from one of them. */
export interface QueueView extends Ahead {
  /** The own node is in it. */
  readonly present: boolean;
  /** The end of the predecessor, and nothing else, makes it our turn. */
  readonly nextIfGone: boolean;
}

/**
 * What `own` sees in a listing. Throws `LayoutConflictError` for what would break exclusion or the queue: another kind of
 * lock on the path, or a foreign child that sorts before a contender, which would block all behind it for ever.
 */
export function viewQueue(
  lockName: string,
  path: string,
  children: readonly string[],
  own: string,
  rule: QueueRule,
): QueueView {
  const { order, foreign } = sorted(children, rule.bases);
  const position = order.indexOf(own);
  for (const name of foreign) {
    const family = familyOf(name);
    if (family !== null && family !== rule.family) {
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
  if (position < 0) return { present: false, predecessor: null, twoAhead: null, nextIfGone: false };
  const nextIfGone = rule.appendsOnly && position === 1 && foreign.length === 0;
  return { present: true, nextIfGone, ...rule.ahead(order, position) };
}

interface Sorted {
  readonly bases: readonly string[];
  readonly order: readonly string[];
  readonly foreign: readonly string[];
}

/** Many waiters look at one listing: it is sorted once for all of a kind. */
const known = new WeakMap<readonly string[], Sorted>();

function sorted(children: readonly string[], bases: readonly string[]): Sorted {
  const before = known.get(children);
  if (before?.bases === bases) return before;
  const order = inQueueOrder(children, ...bases);
  const foreign = order.filter((name) => !isContender(name, ...bases));
  const now = { bases, order, foreign };
  known.set(children, now);
  return now;
}

/** The number of a new queue node. Throws `LayoutConflictError` where the server's counter is nearly spent. */
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
