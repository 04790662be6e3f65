import { parseArgs } from "node:util";
import { needsOf } from "../engine/needs.js";
import type { Scenario } from "../engine/scenario.js";
import { chooseScenarios } from "./choose.js";
import { exits } from "./usage.js";

const help = `Usage: holdfast-chaos list [ID..] [--tag smoke|full|nightly] [--json]

The scenarios: what is broken, and what must hold.
`;

/** The sub-command `list`. @throws UsageError, TypeError of `parseArgs` */
export function listCommand(args: readonly string[], out: (line: string) => void): number {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { tag: { type: "string" }, json: { type: "boolean" }, help: { type: "boolean", short: "h" } },
  });
  if (values.help === true) {
    out(help);
    return exits.asExpected;
  }
  const scenarios = chooseScenarios(positionals, values.tag, null);
  if (values.json === true) out(JSON.stringify(scenarios.map(about), null, 2));
  else for (const scenario of scenarios) out(line(scenario));
  return exits.asExpected;
}

const about = (scenario: Scenario): object => {
  const { id, title, tags, topology, mode, faults, expect } = scenario;
  return { id, title, tags, topology, mode, faults, expect, needs: needsOf(scenario) };
};

function line({ id, title, tags, mode, expect }: Scenario): string {
  const convicts = expect.violation === undefined ? "" : `  [must convict: ${expect.violation.join(", ")}]`;
  return `${id.padEnd(16)} ${tags.join(",").padEnd(11)} ${mode.padEnd(14)} ${title}${convicts}`;
}
