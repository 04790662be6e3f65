import type { Finding, FindingKind } from "../observe/collector.js";

/** The most findings of one kind that are shown; the last of them says how many more there are. */
export const mostOfAKind = 100;

/**
 * The first findings of each kind. `counts`: the number of all findings of a kind, for kinds of which `findings` has only a
 * part.
 */
export function fewOfAKind(
  findings: Iterable<Finding>,
  counts: ReadonlyMap<FindingKind, number> = new Map(),
): Finding[] {
  const few: Finding[] = [];
  const met = new Map<FindingKind, number>();
  const last = new Map<FindingKind, number>();
  for (const finding of findings) {
    const count = (met.get(finding.kind) ?? 0) + 1;
    met.set(finding.kind, count);
    if (count <= mostOfAKind) last.set(finding.kind, few.push(finding) - 1);
  }
  for (const [kind, at] of last) {
    const more = Math.max(met.get(kind) ?? 0, counts.get(kind) ?? 0) - mostOfAKind;
    const finding = few[at] as Finding;
    if (more <= 0) continue;
    few[at] = {
      ...finding,
      evidence: `${finding.evidence.replace(/\.$/, "")}; and ${more} more of this kind.`,
    };
  }
  return few;
}
