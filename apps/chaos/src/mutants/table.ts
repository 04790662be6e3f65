import type { Mutant } from "./mutant.js";

/** `docs/mutants.md`: what was removed where, under which faults, and who convicts it. */
export function mutantsMarkdown(mutants: readonly Mutant[]): string {
  const rows = mutants.map(
    ({ id, guard, package: name, file, scenario, convicts }) =>
      `| \`${id}\` | ${guard} | ${name}, \`${file}\` | ${scenario.faults.join(", ")} | ${convicts.map((each) => `\`${each}\``).join(", ")} |`,
  );
  return `# Mutants

Our recipes with one guard removed each. \`holdfast-chaos mutants\` patches a copy of the built packages, runs workers from it, and
requires every checker of the last column to convict. The same scenario has to pass with the recipe as it is.

| mutant | guard that is missing | where | faults | convicted by |
|---|---|---|---|---|
${rows.join("\n")}
`;
}
