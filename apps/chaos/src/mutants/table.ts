import type { Mutant } from "./mutant.js";

/**
 * The text of `docs/mutants.md`: which guard was removed where, which scenario notices it, and which checkers convict
 * it there.
 */
export function mutantsMarkdown(mutants: readonly Mutant[]): string {
  const convicted = mutants.filter(({ survives }) => survives === undefined);
  const rows = convicted.map(
    ({ id, guard, package: name, file, scenarios, convicts }) =>
      `| \`${id}\` | ${guard} | ${name}, \`${file}\` | ${quoted(scenarios)} | ${quoted(convicts)} |`,
  );
  const survivors = mutants.flatMap(({ id, guard, package: name, file, survives }) =>
    survives === undefined ? [] : [`| \`${id}\` | ${guard} | ${name}, \`${file}\` | ${survives} |`],
  );
  return `# Mutants

Our recipes with one guard removed each. \`holdfast-chaos mutants\` patches a copy of the built packages, runs workers from it in
scenarios of the catalogue, and requires every checker of the last column to convict in one of them. The same scenario has to
pass with the recipe as it is. ${convicted.length} of ${mutants.length} are convicted.

| mutant | guard that is missing | where | scenario | convicted by |
|---|---|---|---|---|
${rows.join("\n")}
${
  survivors.length === 0
    ? ""
    : `
No scenario convicts these:

| mutant | guard that is missing | where | why not |
|---|---|---|---|
${survivors.join("\n")}
`
}`;
}

const quoted = (names: readonly string[]): string => names.map((name) => `\`${name}\``).join(", ");
