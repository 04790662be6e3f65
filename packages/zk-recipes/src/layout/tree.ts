import type { LockMode, PrimitiveKind, Recognised } from "@holdfast/core";
import type { Stat } from "@holdfast/zk-protocol";
import type { LayoutFinding } from "./layout-finding.js";
import type { LayoutFamily } from "./recognise.js";

/** One node as it was read. `stat` is `null` where only the name is known. */
export interface TreeNode {
  readonly name: string;
  readonly stat: Stat | null;
  readonly data: Uint8Array | null;
}

/** A node and what is right below it. */
export interface TreeBranch {
  readonly stat: Stat | null;
  readonly children: readonly TreeNode[];
}

/** What a reader found at a path; its parts may be from different moments. */
export interface BareTree extends TreeBranch {
  readonly path: string;
  readonly data: Uint8Array | null;
  /** For a semaphore, what is below its children of these names. */
  readonly locks?: TreeBranch;
  readonly leases?: TreeBranch;
}

/** What helps to read a tree, where the reader knows it. */
export interface TreeHints {
  /** The kind of primitive that is expected: decides between kinds with the same nodes, and where several are mixed. */
  readonly kind?: PrimitiveKind;
  /** How many permits the semaphore has: without it a lease that still waits cannot be distinguished from those that are held. */
  readonly limit?: number | undefined;
  /** Paths of nodes that the reader itself has made. */
  readonly ours?: (path: string) => boolean;
}

/** A holder or waiter, as its node shows it. */
export interface TreeParticipant {
  readonly path: string;
  readonly name: string;
  readonly mode: LockMode;
  /** Owner of the ephemeral node; 0n for one that is not, and that no session's end will take away. `null`: not read. */
  readonly session: bigint | null;
  /** When the node was made, in milliseconds since 1970 by the server's clock: since then it waits, or waited. */
  readonly sinceMs: number | null;
  /** Its fencing token; `null` where the node does not show it. */
  readonly token: bigint | null;
  readonly label: string | null;
  readonly address: string | null;
  readonly recognisedAs: Recognised;
}

export interface RecognisedTree {
  readonly family: LayoutFamily | null;
  /** `null` when nothing is recognised. */
  readonly kind: PrimitiveKind | null;
  /** The kind is a guess: a node alone, whose bytes could be those of any program. */
  readonly guessed: boolean;
  readonly holders: readonly TreeParticipant[];
  /** In the order of the queue. */
  readonly waiters: readonly TreeParticipant[];
  readonly findings: readonly LayoutFinding[];
}
