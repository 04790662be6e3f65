import type { FindingRow } from "../../../src/contract/api.js";

const ranks = { critical: 0, warning: 1, info: 2 } as const;

/** The most severe first; among equal ones, the oldest first. */
export function worstFirst(rows: readonly FindingRow[]): FindingRow[] {
  return [...rows].sort((a, b) => ranks[a.severity] - ranks[b.severity] || a.sinceMs - b.sinceMs);
}

export interface Sorted {
  /** Critical findings and warnings: the badge in the head counts these. */
  readonly problems: readonly FindingRow[];
  /** Findings that may be no problem. */
  readonly hints: readonly FindingRow[];
  readonly muted: readonly FindingRow[];
}

/** The findings of one cluster, or of all if `cluster` is `null`, in the groups in which every page counts them. */
export function sorted(rows: readonly FindingRow[], cluster: string | null): Sorted {
  const here = worstFirst(rows).filter((row) => cluster === null || row.cluster === cluster);
  const open = here.filter(({ muted }) => muted === null);
  return {
    problems: open.filter(({ severity }) => severity !== "info"),
    hints: open.filter(({ severity }) => severity === "info"),
    muted: here.filter(({ muted }) => muted !== null),
  };
}

/** What an operator can do next: a path below the base, and the text of the link. */
export interface Step {
  readonly text: string;
  readonly path: string;
  readonly query?: Record<string, string>;
}

/** The two next steps for a finding. `mayAsk`: whether this user may ask a holder to release. */
export function stepsFor({ id, kind, lockId }: FindingRow, mayAsk: boolean): readonly [Step, Step] {
  const advice: Step = { text: "Read the advice", path: "findings", query: { id } };
  if (lockId === null) return [{ text: "Open the backends", path: "backends" }, advice];
  const open: Step = { text: "Open the lock", path: `locks/${lockId}` };
  switch (kind) {
    case "deadlock-suspected":
      return [{ text: "See the deadlock", path: "waits" }, open];
    case "stuck-with-waiters":
    case "long-hold":
    case "not-renewing":
      return mayAsk
        ? [open, { text: "Ask the holder to release", path: open.path, query: { act: "request-revoke" } }]
        : [open, { text: "See who waits", path: "waits" }];
    case "queue-without-holder":
      return [open, { text: "See who waits", path: "waits" }];
    default:
      return [open, advice];
  }
}

/** `2 critical, 3 warnings` */
export function tally(problems: readonly FindingRow[]): string {
  const critical = problems.filter(({ severity }) => severity === "critical").length;
  const warnings = problems.length - critical;
  return [
    ...(critical > 0 ? [`${critical} critical`] : []),
    ...(warnings > 0 ? [`${warnings} ${warnings === 1 ? "warning" : "warnings"}`] : []),
  ].join(", ");
}
