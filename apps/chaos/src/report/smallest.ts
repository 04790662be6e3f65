import type { ScenarioOutcome } from "../engine/outcome.js";
import { faultText, plural } from "./words.js";

/** What is left of a violation after shrinking, with the command line that shows it again. Empty if shrinking was not tried. */
export function smallestLines({ smallest }: Pick<ScenarioOutcome, "smallest">): string[] {
  if (smallest === undefined) return [];
  const { faults, drawn, workers, tries, command, folder } = smallest;
  return [
    `shrunk in ${plural(tries, "try", "tries")} from ${drawn} to ${plural(faults.length, "fault")} and ${plural(workers, "worker")}`,
    ...faults.map((fault) => `  ${faultText(fault)}`),
    ...(folder === null ? [] : [`  kept in ${folder}`]),
    `  again: ${command}`,
  ];
}
