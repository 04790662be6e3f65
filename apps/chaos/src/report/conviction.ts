import { millis, seconds } from "../checkers/examples.js";
import type { ScenarioOutcome } from "../engine/outcome.js";
import type { Fault, History, Hold } from "../history/history.js";

const shownOfEach = 2;

/**
 * The convictions as text: the two holds that overlap with their times, and the faults that were on between the first
 * one's grant and the second's. Without a history: the sentences of the checkers and the plan. Unexpected convictions
 * come first.
 */
export function convictionLines(outcome: ScenarioOutcome, history: History | null = null): string[] {
  const lines: string[] = [];
  const unexpected: readonly string[] = outcome.unexpected;
  const convicted = outcome.results
    .filter(({ verdict }) => verdict === "violation")
    .sort((a, b) => Number(unexpected.includes(b.checker)) - Number(unexpected.includes(a.checker)));
  const grants = new Map<number, Hold>();
  for (const { holds } of history?.keys.values() ?? [])
    for (const hold of holds) grants.set(hold.grant, hold);
  const told = new Set<string>();
  for (const { checker, examples, metrics } of convicted) {
    // A conviction of the user's client or service is a finding, whether or not it was expected.
    const expected =
      unexpected.includes(checker) || outcome.scenario.subject !== undefined ? "" : " (expected)";
    const count = metrics.violations ?? examples.length;
    lines.push(`${checker}${expected}: ${count} x`);
    for (const { records, text } of examples.slice(0, shownOfEach)) {
      const name = records.join();
      if (told.has(name)) {
        lines.push("  as above");
        continue;
      }
      told.add(name);
      lines.push(`  ${text}`);
      const holds = records.flatMap((i) => grants.get(i) ?? []).sort((a, b) => a.from - b.from);
      for (const hold of holds) lines.push(`    ${holdLine(hold)}`);
      const [first, last] = [holds[0], holds.at(-1)];
      if (history === null || first === undefined || last === undefined) continue;
      for (const fault of history.faults)
        if (fault.from <= last.from && fault.to >= first.from) lines.push(`    ${faultLine(fault)}`);
    }
  }
  if (history === null && convicted.length > 0)
    for (const { fault, target, atMs, after } of outcome.plan)
      lines.push(
        `planned: ${fault}${target === undefined ? "" : ` at ${target}`}, ${atMs} ms ${after === undefined ? "in" : `after ${after}`}`,
      );
  return lines;
}

function holdLine({ p, id, mode, from, to, cause, token }: Hold): string {
  const with_ = token === null ? "" : ` token ${token}`;
  const end = cause === "open" ? "never ended" : `ended by ${cause}`;
  return `${p} ${id}${mode === "read" ? " read" : ""}${with_}: ${seconds(from)} to ${seconds(to)}, ${end}`;
}

const faultLine = ({ name, target, from, to }: Fault): string =>
  `fault ${name}${target === "" ? "" : ` at ${target}`}: ${seconds(from)}, for ${millis(to - from)}`;
