import type { LayoutFamily } from "./recognise.js";

/** Something in a tree that an operator should look at. Each finding has been seen to do harm, or to be about to do so. */
export type LayoutFinding =
  | ForeignChild
  | MixedKinds
  | SequenceHigh
  | PossibleOldDowngrade
  | KazooNames
  | LonePermits;

/** A child that no recipe of the path made. Curator counts and sorts it like any other. */
export interface ForeignChild {
  readonly type: "foreign-child";
  readonly path: string;
  readonly child: string;
  /**
   * `"blocks"`: it sorts before a contender, which waits as long as the child is there. `"takes-permit"`: a semaphore
   * counts it as a lease. `"none"`: it sorts behind all contenders, or is not counted.
   */
  readonly effect: "blocks" | "takes-permit" | "none";
}

/** Two kinds of lock on one path, which do not exclude each other. */
export interface MixedKinds {
  readonly type: "mixed-kinds";
  readonly path: string;
  readonly families: readonly LayoutFamily[];
  /** One child of each family, in the same order. */
  readonly children: readonly string[];
}

/**
 * The counter that numbers the children is high. Near 2^31 - 1 the server stops counting, and Curator then lets several
 * contenders hold. From `"refuse"` on, contenders of this library do not queue there any more.
 */
export interface SequenceHigh {
  readonly type: "sequence-high";
  readonly path: string;
  /** The number of the next child, or of the last one where only names are known. */
  readonly sequence: number;
  readonly level: "warn" | "refuse";
}

/**
 * A read that waits in the queue while its own session holds the write. Curator up to 5.4.0 makes such a read when a
 * writer takes the read side (CURATOR-621). When that writer drops the write, its read goes on at the tail, and a writer
 * that queued before the read is granted beside it.
 *
 * This is a suspicion only: a reader of another thread of that process looks the same. It can be seen only while the
 * write is there. No client can wait for the end of such a read: if it is a mere waiter, both would wait for ever.
 */
export interface PossibleOldDowngrade {
  readonly type: "possible-old-downgrade";
  readonly path: string;
  readonly write: string;
  readonly read: string;
  readonly session: bigint;
}

/** Nodes of kazoo. Locks of kazoo and of Curator do not see each other. */
export interface KazooNames {
  readonly type: "kazoo-names";
  readonly path: string;
  readonly children: readonly string[];
}

/** The path is the `leases` node of a semaphore, whose queue is beside it. It should not be used as a lock of its own. */
export interface LonePermits {
  readonly type: "lone-permits";
  readonly path: string;
  readonly permits: number;
}
