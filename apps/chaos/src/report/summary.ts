import type { RunOutcome, ScenarioOutcome } from "../engine/outcome.js";
import type { Scenario } from "../engine/scenario.js";
import { guarantees } from "./guarantees.js";
import { type Cell, entryOfOutcome, entryOfScenario, type Matrix, matricesOf } from "./matrix.js";
import { smallestLines } from "./smallest.js";
import { verdictLines } from "./verdict-lines.js";
import { duration, plural, wordOf } from "./words.js";

const marks: Readonly<Record<Cell, string>> = {
  broken: "**BROKEN**",
  "broken as known": "broken as known",
  unknown: "unknown",
  "not promised": "not promised",
  held: "held",
  "not run": "not run",
  "not judged": "–",
};

/** `summary.md` of a run: what held under which fault, and the outcome of each scenario. */
export function summaryMarkdown(run: RunOutcome): string {
  const counts = new Map<string, number>();
  for (const { outcome } of run.outcomes) counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  const shown = [...counts].map(([outcome, n]) => `${n} ${outcome}`).join(", ");
  return [
    "# Chaos run",
    "",
    `${plural(run.outcomes.length, "scenario")} in ${duration(run.tookMs)}, seed ${run.seed}, begun ${run.startedAt}: ${shown}.`,
    "",
    "## Scenarios",
    "",
    "| scenario | what it does | outcome | decided by | grants | time | seed |",
    "|---|---|---|---|---:|---:|---:|",
    ...run.outcomes.map(rowOf),
    "",
    ...run.outcomes.flatMap((outcome) => {
      const lines = smallestLines(outcome);
      return lines.length === 0 ? [] : [`${outcome.scenario.id}:`, "", "```text", ...lines, "```", ""];
    }),
    ...judged(run.outcomes),
    "## Guarantees under faults",
    "",
    ...legend(),
    ...matricesOf(run.outcomes.map(entryOfOutcome)).flatMap(tableOf),
  ].join("\n");
}

/** A page of the documentation: the same tables, made from what each scenario of the catalogue must show. */
export function guaranteesMarkdown(catalogue: readonly Scenario[]): string {
  return [
    "# What holds under which fault",
    "",
    "Each cell is judged by the scenarios that it names, in every full run, those named S02 each night: a run is red when a",
    "guarantee that is written here as held is broken, and also when one that is written here as broken is not shown to be.",
    "`summary.md` of a run has the same tables with what that run showed.",
    "",
    ...legend(),
    ...matricesOf(
      catalogue
        .filter(({ tags, topology }) => tags.length > 0 && topology.kind !== "none")
        .map(entryOfScenario),
    ).flatMap(tableOf),
  ].join("\n");
}

/** The catalogue as a table, for the readme. */
export function catalogueMarkdown(catalogue: readonly Scenario[]): string {
  return [
    "| scenario | servers | what it does, and what must hold | client | must be convicted | tags |",
    "|---|---|---|---|---|---|",
    ...catalogue.map((scenario) => {
      const { id, title, mode, expect, tags } = scenario;
      const convicted = expect.violation?.map(code).join(" ") ?? "";
      return row([id, serversOf(scenario), title, mode, convicted, tags.join(", ")]);
    }),
    "",
  ].join("\n");
}

function serversOf({ topology }: Scenario): string {
  switch (topology.kind) {
    case "none":
      return "none";
    case "zookeeper":
      return `ZooKeeper, ${plural(topology.members, "server")}`;
    case "redis":
      return "Redis";
    case "replicated":
      return `Redis, ${plural(topology.replicas, "replica")}${topology.sentinels === 0 ? "" : ", 3 sentinels"}`;
    case "masters":
      return `Redis, ${topology.count} masters`;
    case "other":
      return topology.name;
  }
}

/** What was judged of a client that took the place of the scenarios' own clients. */
function judged(outcomes: readonly ScenarioOutcome[]): string[] {
  const theirs = outcomes.filter((outcome) => verdictLines(outcome).length > 0);
  const [first] = theirs;
  if (first === undefined) return [];
  return [
    `## What was judged of ${code(first.scenario.subject?.name ?? "")}`,
    "",
    ...theirs.flatMap((outcome) => [
      `- ${outcome.scenario.id}`,
      ...verdictLines(outcome).map((line) => `  - ${line}`),
    ]),
    "",
  ];
}

function rowOf(outcome: ScenarioOutcome): string {
  const { scenario, why, tookMs, metrics, seed } = outcome;
  const grants = metrics.grants === undefined ? "" : String(metrics.grants);
  return row([scenario.id, scenario.title, wordOf(outcome), why, grants, duration(tookMs), String(seed)]);
}

function tableOf({ mode, rows }: Matrix): string[] {
  return [
    `### ${mode}`,
    "",
    row(["fault", ...guarantees.map(({ name }) => name)]),
    `|---|${guarantees.map(() => "---|").join("")}`,
    ...rows.map(({ fault, cells }) =>
      row([
        fault,
        ...cells.map(({ cell, ids }) =>
          cell === "not judged" ? marks[cell] : `${marks[cell]} (${ids.join(", ")})`,
        ),
      ]),
    ),
    "",
  ];
}

function legend(): string[] {
  return [
    ...guarantees.map(
      ({ name, meaning, checkers }) => `- **${name}**: ${meaning} (${checkers.map(code).join(", ")}).`,
    ),
    "",
    "_held_: judged and in order. _broken as known_: convicted, as it must be: this client or setting does not keep it.",
    "_not promised_: may go either way, and is reported with its figures. _unknown_: too little happened to tell, or the",
    "servers were at odds among themselves. _not run_: this machine lacks something. _–_: not judged.",
    "Where several scenarios judge one cell, it shows the worst and who says so.",
    "",
  ];
}

const code = (name: string): string => `\`${name}\``;
const row = (cells: readonly string[]): string =>
  `| ${cells.map((cell) => cell.replace(/\s+/g, " ").replaceAll("|", "\\|")).join(" | ")} |`;
