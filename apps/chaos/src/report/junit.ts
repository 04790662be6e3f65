import type { RunOutcome, ScenarioOutcome } from "../engine/outcome.js";
import { smallestLines } from "./smallest.js";
import { verdictLines } from "./verdict-lines.js";
import { backendOf, expectedConvictions, wordOf } from "./words.js";

const backends = ["checkers", "zookeeper", "redis", "other"] as const;

/**
 * The run as JUnit XML, one suite for each family of servers, one case for each scenario.
 * A violation that had to be shown and was shown passes, with the property `demonstrated`. One that was not shown is a
 * failure of type `not demonstrated`. A scenario for which the machine lacks something is `skipped`. Too little
 * evidence and a broken runner are errors, never passes.
 */
export function junitXml(run: RunOutcome): string {
  const suites = backends
    .map((name) => ({
      name,
      cases: run.outcomes.filter(({ scenario }) => backendOf(scenario.topology) === name),
    }))
    .filter(({ cases }) => cases.length > 0);
  const lines = ['<?xml version="1.0" encoding="UTF-8"?>'];
  const total = countsOf(run.outcomes);
  lines.push(`<testsuites name="holdfast-chaos" ${total} time="${seconds(run.tookMs)}">`);
  for (const { name, cases } of suites) {
    const took = cases.reduce((sum, { tookMs }) => sum + tookMs, 0);
    const at = run.startedAt.replace(/\.\d+Z$|Z$/, "");
    lines.push(
      `  <testsuite name="${name}" ${countsOf(cases)} time="${seconds(took)}" timestamp="${text(at)}">`,
    );
    for (const outcome of cases) lines.push(...caseOf(name, outcome));
    lines.push("  </testsuite>");
  }
  lines.push("</testsuites>", "");
  return lines.join("\n");
}

function caseOf(suite: string, outcome: ScenarioOutcome): string[] {
  const { scenario, tookMs } = outcome;
  const lines = [
    `    <testcase classname="chaos.${suite}" name="${text(`${scenario.id} ${scenario.title}`)}" time="${seconds(tookMs)}">`,
    "      <properties>",
  ];
  for (const [name, value] of propertiesOf(outcome)) {
    lines.push(`        <property name="${text(name)}" value="${text(value)}"/>`);
  }
  lines.push("      </properties>", ...verdictOf(outcome));
  const findings = outcome.results.map(
    ({ checker, verdict, summary }) => `${verdict.padEnd(9)} ${checker.padEnd(13)} ${summary}`,
  );
  findings.push(...verdictLines(outcome).filter((line) => line.startsWith("not judged")));
  if (findings.length > 0) lines.push(`      <system-out>${text(findings.join("\n"))}</system-out>`);
  lines.push("    </testcase>");
  return lines;
}

function verdictOf(outcome: ScenarioOutcome): string[] {
  const why = text(outcome.why);
  const details = text(
    outcome.results
      .filter(({ checker }) => (outcome.unexpected as readonly string[]).includes(checker))
      .flatMap(({ checker, examples, summary }) => [
        `${checker}: ${summary}`,
        ...examples.map((each) => `  records ${each.records.join(", ")}: ${each.text}`),
      ])
      .concat(outcome.folder === null ? [] : [`kept in ${outcome.folder}`])
      .concat(smallestLines(outcome))
      .join("\n"),
  );
  switch (outcome.outcome) {
    case "as-expected":
      return [];
    case "violation":
      return [`      <failure type="violation" message="${why}">${details}</failure>`];
    case "not-demonstrated":
      return [`      <failure type="not demonstrated" message="${why}">${details}</failure>`];
    case "unknown":
      return [`      <error type="unknown" message="${why}">${details}</error>`];
    case "broken":
      return [`      <error type="broken" message="${why}">${details}</error>`];
    case "skipped":
      return [`      <skipped message="${text(skipReason(outcome))}"/>`];
  }
}

const skipReason = ({ missing, why }: ScenarioOutcome): string =>
  missing.length === 0 ? why : `missing here: ${missing.join(", ")}`;

function propertiesOf(outcome: ScenarioOutcome): [string, string][] {
  const properties: [string, string][] = [
    ["outcome", wordOf(outcome)],
    ["seed", String(outcome.seed)],
    ["mode", outcome.scenario.mode],
    ["broken", outcome.scenario.faults.join(", ")],
  ];
  const shown = expectedConvictions(outcome);
  if (shown.length > 0) properties.push(["demonstrated", shown.join(", ")]);
  if (outcome.folder !== null) properties.push(["folder", outcome.folder]);
  for (const [name, value] of Object.entries(outcome.metrics)) properties.push([name, String(value)]);
  return properties;
}

function countsOf(outcomes: readonly ScenarioOutcome[]): string {
  const count = (...kinds: readonly string[]): number =>
    outcomes.filter(({ outcome }) => kinds.includes(outcome)).length;
  return (
    `tests="${outcomes.length}" failures="${count("violation", "not-demonstrated")}" ` +
    `errors="${count("unknown", "broken")}" skipped="${count("skipped")}"`
  );
}

const seconds = (ms: number): string => (ms / 1_000).toFixed(3);

const entities: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** The text for an attribute or an element. Characters that XML 1.0 cannot contain are replaced by a question mark. */
function text(value: string): string {
  return [...value]
    .map((char) => {
      const code = char.codePointAt(0) ?? 0;
      const allowed =
        code === 9 || code === 10 || code === 13 || (code >= 32 && (code < 0xd800 || code > 0xdfff));
      if (!allowed || code === 0xfffe || code === 0xffff) return "?";
      // A parser would turn a line break in an attribute into a space.
      return char === "\n" ? "&#10;" : (entities[char] ?? char);
    })
    .join("");
}
