import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { CheckerName } from "../checkers/judge.js";
import type { ScenarioOutcome } from "../engine/outcome.js";
import type { ProgramsByRecipe } from "../engine/programs.js";
import { runScenario } from "../engine/run-scenario.js";
import type { Scenario } from "../engine/scenario.js";
import { ServerPool, topologyName } from "../engine/server-pool.js";
import type { Mutant } from "./mutant.js";
import { PatchedPackages } from "./patched-packages.js";

/** Whether the checkers have noticed one mutant. */
export interface MutantOutcome {
  /** The mutant. */
  readonly mutant: Mutant;
  /** Of those that must: who has. */
  readonly convictedBy: readonly CheckerName[];
  /** The same scenario with the recipe as it is came out as expected. */
  readonly controlPassed: boolean;
  /** Convicted by all that must, and the control passed. */
  readonly killed: boolean;
  /** In one line. */
  readonly why: string;
  /** How long it took, in milliseconds. */
  readonly tookMs: number;
}

/** What `runMutants()` takes. */
export interface RunMutantsOptions {
  /** Which mutants are run. */
  readonly mutants: readonly Mutant[];
  /** Plans and workloads are drawn from it. */
  readonly seed: number;
  /** Histories of what did not come out as it should stay there. */
  readonly folder: string;
  /** Aborts: everything is taken down, and the promise rejects with the reason. */
  readonly signal?: AbortSignal;
  /** Called as each mutant is done. */
  onOutcome?(outcome: MutantOutcome): void;
}

/** Those that run on the same servers come one after the other; each scenario is run once with the recipe as it is. */
export async function runMutants(options: RunMutantsOptions): Promise<readonly MutantOutcome[]> {
  const pool = new ServerPool();
  const outcomes: MutantOutcome[] = [];
  const controls = new Map<string, ScenarioOutcome>();
  const inOrder = [...options.mutants].sort(byTopology);
  const play = (scenario: Scenario, name: string, programs: ProgramsByRecipe): Promise<ScenarioOutcome> =>
    runOnce(scenario, name, programs, options, pool);
  try {
    for (const mutant of inOrder) {
      const startedMs = performance.now();
      const { scenario } = mutant;
      let control = controls.get(scenario.id);
      if (control === undefined) {
        control = await play(scenario, `control-${scenario.id}`, {});
        controls.set(scenario.id, control);
      }
      using patched = new PatchedPackages(mutant);
      const program = async () => patched.worker;
      const outcome = await play(scenario, mutant.id, {
        zookeeper: program,
        redis: program,
        redlock: program,
      });
      const verdict = verdictOf(mutant, control, outcome, performance.now() - startedMs);
      if (verdict.killed && outcome.folder !== null) rmSync(outcome.folder, { recursive: true, force: true });
      outcomes.push(verdict);
      options.onOutcome?.(verdict);
    }
  } finally {
    await pool.close();
  }
  return options.mutants.flatMap((mutant) => outcomes.filter((outcome) => outcome.mutant === mutant));
}

const byTopology = (one: Mutant, other: Mutant): number =>
  topologyName(one.scenario.topology).localeCompare(topologyName(other.scenario.topology));

async function runOnce(
  scenario: Scenario,
  name: string,
  programs: ProgramsByRecipe,
  { seed, folder, signal }: RunMutantsOptions,
  pool: ServerPool,
): Promise<ScenarioOutcome> {
  signal?.throwIfAborted();
  const own = join(folder, name);
  rmSync(own, { recursive: true, force: true });
  mkdirSync(own, { recursive: true });
  const set = await pool.take(scenario.topology);
  const outcome = await runScenario(scenario, {
    seed,
    folder: own,
    set,
    programs,
    ...(signal !== undefined && { signal }),
  });
  await pool.giveBack(set);
  return outcome;
}

function verdictOf(
  mutant: Mutant,
  control: ScenarioOutcome,
  outcome: ScenarioOutcome,
  tookMs: number,
): MutantOutcome {
  const convicting = outcome.results.filter(({ verdict }) => verdict === "violation");
  const convictedBy = mutant.convicts.filter((name) => convicting.some(({ checker }) => checker === name));
  const controlPassed = control.outcome === "as-expected";
  const silent = mutant.convicts.filter((name) => !convictedBy.includes(name));
  const [first] = convicting.filter(({ checker }) => checker === convictedBy[0]);
  let why = first?.examples[0]?.text ?? "";
  if (silent.length > 0) why = `${silent.join(", ")} convicted nobody (${outcome.why})`;
  if (!controlPassed) why = `the recipe as it is did not pass: ${control.why}`;
  return {
    mutant,
    convictedBy,
    controlPassed,
    killed: controlPassed && silent.length === 0,
    why,
    tookMs: Math.round(tookMs),
  };
}
