import { randomInt } from "node:crypto";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { onSignals } from "../cli/signals.js";
import { exits, UsageError } from "../cli/usage.js";
import { mutants } from "./catalogue.js";
import type { Mutant } from "./mutant.js";
import { runMutants } from "./run-mutants.js";

const help = `Usage: holdfast-chaos mutants [ID..] [--list] [--seed N] [--out DIR]

Runs our recipes with one guard removed each, and shows that a checker convicts them; the same scenarios have to pass with
the recipes as they are.
  --list      what there is, without running anything
  --seed N    draws the workloads; default a fresh one, which is printed
  --out DIR   for the histories of mutants that survived; default ./chaos-results/mutants

Exit: 0 all convicted; 1 a mutant survived, or a scenario did not pass without one; 254 wrong arguments.
`;

/** The sub-command `mutants`. @throws UsageError, TypeError of `parseArgs` */
export async function mutantsCommand(args: readonly string[], out: (line: string) => void): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      list: { type: "boolean" },
      seed: { type: "string" },
      out: { type: "string", default: join("chaos-results", "mutants") },
      help: { type: "boolean", short: "h" },
    },
  });
  if (values.help === true) {
    out(help);
    return exits.asExpected;
  }
  const chosen = choose(positionals);
  if (values.list === true) {
    for (const { id, guard, convicts } of chosen)
      out(`${id.padEnd(29)} without: ${guard}  [${convicts.join(", ")}]`);
    return exits.asExpected;
  }
  const seed = values.seed === undefined ? randomInt(1, 2 ** 31) : Number(values.seed);
  if (!Number.isSafeInteger(seed) || seed < 0)
    throw new UsageError(`--seed is ${values.seed}, and has to be a whole number`);
  out(`seed ${seed}, ${chosen.length} mutants`);
  const interrupt = onSignals(out);
  try {
    const outcomes = await runMutants({
      mutants: chosen,
      seed,
      folder: values.out,
      signal: interrupt.signal,
      onOutcome: ({ mutant, killed, convictedBy, why, tookMs }) => {
        const word = killed ? `convicted by ${convictedBy.join(", ")}` : "SURVIVED";
        out(`${mutant.id.padEnd(29)} ${word} (${(tookMs / 1000).toFixed(1)} s): ${why}`);
      },
    });
    const survivors = outcomes.filter(({ killed }) => !killed).length;
    out(`${outcomes.length - survivors} of ${outcomes.length} convicted`);
    return survivors === 0 ? exits.asExpected : exits.violation;
  } catch (error) {
    if (interrupt.exitCode === null) throw error;
    return interrupt.exitCode;
  } finally {
    interrupt.dispose();
  }
}

function choose(ids: readonly string[]): readonly Mutant[] {
  for (const id of ids) {
    if (!mutants.some((mutant) => mutant.id === id))
      throw new UsageError(`there is no mutant ${JSON.stringify(id)}`);
  }
  return ids.length === 0 ? mutants : mutants.filter(({ id }) => ids.includes(id));
}
