import type { LockMode, PrimitiveKind, Recognised } from "@holdfast/core";
import type { Stat } from "@holdfast/zk-protocol";
import type { LayoutFinding } from "./layout-finding.js";
import type { LayoutFamily } from "./recognise.js";

/** One node as it was read. `stat` is `null` if only the name is known. */
export interface TreeNode {
  readonly name: string;
  readonly stat: Stat | null;
  readonly data: Uint8Array | null;
}

/** A node and its direct children. */
export interface TreeBranch {
  readonly stat: Stat | null;
  readonly children: readonly TreeNode[];
}

/** The nodes that a reader found at a path; its parts may be from different moments. */
export interface BareTree extends TreeBranch {
  readonly path: string;
  readonly data: Uint8Array | null;
  /** For a semaphore: the nodes below its children of these names. */
  readonly locks?: TreeBranch;
  readonly leases?: TreeBranch;
}

/** What the reader knows already and what helps to recognise a tree. */
export interface TreeHints {
  /** The kind of primitive that is expected. It decides between kinds with the same nodes, and between mixed kinds. */
  readonly kind?: PrimitiveKind;
  /**
   * The number of permits of the semaphore. Without it, a lease that still waits cannot be distinguished from leases that
   * are held.
   */
  readonly limit?: number | undefined;
  /** Paths of nodes that the reader itself has made. */
  readonly ours?: (path: string) => boolean;
}

/** A holder or waiter, as its node shows it. */
export interface TreeParticipant {
  readonly path: string;
  readonly name: string;
  readonly mode: LockMode;
  /**
   * Owner of the ephemeral node; 0n for a node that is not ephemeral and that no end of a session will delete. `null`:
   * not read.
   */
  readonly session: bigint | null;
  /**
   * When the node was made, in milliseconds since 1970 by the server's clock. A waiter has waited since then; a holder
   * began to wait then.
   */
  readonly sinceMs: number | null;
  /** The fencing token; `null` if the node does not show it. */
  readonly token: bigint | null;
  readonly label: string | null;
  readonly address: string | null;
  readonly recognisedAs: Recognised;
}

export interface RecognisedTree {
  readonly family: LayoutFamily | null;
  /** `null` when nothing is recognised. */
  readonly kind: PrimitiveKind | null;
  /** The kind is a guess: a single node, whose bytes could be those of any program. */
  readonly guessed: boolean;
  readonly holders: readonly TreeParticipant[];
  /** In the order of the queue. */
  readonly waiters: readonly TreeParticipant[];
  readonly findings: readonly LayoutFinding[];
}
