import type { Screen } from "../console/screen.js";

/** One promise of an act, and what was observed. */
export interface Check {
  readonly promise: string;
  readonly kept: boolean;
  readonly seen: string;
}

export interface Verdict {
  readonly asPromised: boolean;
  readonly checks: readonly Check[];
}

export function judge(checks: readonly Check[]): Verdict {
  return { asPromised: checks.length > 0 && checks.every((check) => check.kept), checks };
}

export function showVerdict(screen: Screen, verdict: Verdict): void {
  for (const { promise, kept, seen } of verdict.checks) {
    const mark = kept ? screen.styled("good", "✔ as promised") : screen.styled("bad", "✘ NOT as promised");
    screen.line(`  ${mark}: ${promise} ${screen.styled("dim", `(${seen})`)}`);
  }
}
