import type { FindingKind } from "@holdfast/collectors";
import type { FindingRow } from "../contract/api.js";
import { wordOf } from "./lock-id.js";

/** What may be wrong with the dashboard itself. */
export type OwnFindingKind = "sign-in-not-read" | "history-failing";
export const ownFindingKinds: readonly OwnFindingKind[] = ["sign-in-not-read", "history-failing"];
export type AnyFindingKind = FindingKind | OwnFindingKind;

/** Shown in place of a cluster's name. No cluster of a configuration file can have this name. */
export const ownCluster = "(dashboard)";

/** Something that is wrong with the dashboard itself, and not with a lock. */
export interface OwnFinding {
  /** What kind of thing it is. */
  readonly kind: OwnFindingKind;
  /** What it is about, such as a file. */
  readonly object: string;
  /** Epoch milliseconds. */
  readonly sinceMs: number;
  /** What was seen, in a sentence for people. */
  readonly evidence: string;
  /** What to do, in a sentence for people. */
  readonly advice: string;
}

export function ownFindingRow(finding: OwnFinding): FindingRow & { readonly kind: OwnFindingKind } {
  const { kind, object, sinceMs, evidence, advice } = finding;
  return {
    id: wordOf(ownCluster, kind, object),
    cluster: ownCluster,
    kind,
    severity: "warning",
    object,
    lockId: null,
    sinceMs,
    evidence,
    advice,
    muted: null,
  };
}
