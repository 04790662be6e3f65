import { randomInt } from "node:crypto";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { onSignals } from "../cli/signals.js";
import { exits, UsageError } from "../cli/usage.js";
import { mutants } from "./catalogue.js";
import type { Mutant } from "./mutant.js";
import { progressFile } from "./progress.js";
import { type MutantOutcome, runMutants } from "./run-mutants.js";

const help = `Usage: holdfast-chaos mutants [ID..] [--list] [--everywhere] [--seed N] [--out DIR] [--fresh]

Runs our recipes with one guard removed each in scenarios that run has, and shows which of them convicts it; the same scenarios
have to pass with the recipes as they are. Interrupted, it goes on where it was when it is started with the same --out.
  --list        what there is, without running anything
  --everywhere  goes on through the full set until a scenario convicts, also for those of which it is known that none does
  --seed N      draws plans and workloads; default that of --out, or a fresh one, which is printed
  --out DIR     for what is known so far, and the histories of mutants that survived; default ./chaos-results/mutants
  --fresh       forgets what is known in --out

Exit: 0 all convicted but those of which it is known why not; 1 another one survived, or a scenario did not pass without one;
254 wrong arguments.
`;

/** The sub-command `mutants`. @throws UsageError, TypeError of `parseArgs` */
export async function mutantsCommand(args: readonly string[], out: (line: string) => void): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      list: { type: "boolean" },
      everywhere: { type: "boolean" },
      fresh: { type: "boolean" },
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
    for (const { id, guard, scenarios, convicts, survives } of chosen)
      out(
        `${id.padEnd(29)} without: ${guard}  [${survives ?? `${scenarios.join(", ")}: ${convicts.join(", ")}`}]`,
      );
    return exits.asExpected;
  }
  if (values.fresh === true) rmSync(progressFile(values.out), { force: true });
  const seed =
    values.seed === undefined ? (seedOf(values.out) ?? randomInt(1, 2 ** 31)) : Number(values.seed);
  if (!Number.isSafeInteger(seed) || seed < 0)
    throw new UsageError(`--seed is ${values.seed}, and has to be a whole number`);
  const everywhere = values.everywhere === true;
  const tried = chosen.filter(({ survives }) => everywhere || survives === undefined);
  out(`seed ${seed}, ${tried.length} mutants`);
  for (const { id, survives } of chosen)
    if (!everywhere && survives !== undefined) out(`${id.padEnd(29)} not run: ${survives}`);
  const interrupt = onSignals(out);
  let done = 0;
  try {
    const outcomes = await runMutants({
      mutants: tried,
      seed,
      folder: values.out,
      everywhere,
      signal: interrupt.signal,
      onOutcome: (outcome) => out(`${++done}/${tried.length} ${lineOf(outcome)}`),
    });
    const missed = outcomes.filter(({ killed, mutant }) => !killed && mutant.survives === undefined);
    out(`${outcomes.filter(({ killed }) => killed).length} of ${chosen.length} convicted`);
    return missed.length === 0 ? exits.asExpected : exits.violation;
  } catch (error) {
    if (interrupt.exitCode === null) throw error;
    return interrupt.exitCode;
  } finally {
    interrupt.dispose();
  }
}

function lineOf({ mutant, scenario, killed, convictedBy, why, tookMs }: MutantOutcome): string {
  const word = killed ? `convicted in ${scenario} by ${convictedBy.join(", ")}` : "SURVIVED";
  return `${mutant.id.padEnd(29)} ${word} (${(tookMs / 1000).toFixed(1)} s): ${why}`;
}

/** The seed of the progress in a folder; `null` if there is none. */
function seedOf(folder: string): number | null {
  const path = progressFile(folder);
  if (!existsSync(path)) return null;
  const [first = ""] = readFileSync(path, "utf8").split("\n");
  return first.endsWith("}") ? (JSON.parse(first) as { seed: number }).seed : null;
}

function choose(ids: readonly string[]): readonly Mutant[] {
  for (const id of ids) {
    if (!mutants.some((mutant) => mutant.id === id))
      throw new UsageError(`there is no mutant ${JSON.stringify(id)}`);
  }
  return ids.length === 0 ? mutants : mutants.filter(({ id }) => ids.includes(id));
}
