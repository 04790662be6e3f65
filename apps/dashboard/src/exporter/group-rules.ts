import { textMatcher } from "@holdfast/collectors/internal";
import { defaultLockGroup } from "@holdfast/metrics";

/** Locks whose names match the glob are one group. */
export interface GroupRule {
  readonly match: string;
  readonly group: string;
}

/** Gives the group of a lock's name by the first rule that matches. In other names what varies becomes `*`. */
export function groupByRules(rules: readonly GroupRule[]): (name: string) => string {
  const matchers = rules.map(({ match, group }) => ({ matches: wholeName(match), group }));
  return (name) => matchers.find(({ matches }) => matches(name))?.group ?? defaultLockGroup(name);
}

function wholeName(match: string): (name: string) => boolean {
  return /[*?]/.test(match) ? textMatcher(match) : (name) => name === match;
}
