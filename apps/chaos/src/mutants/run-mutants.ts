import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { CheckerName } from "../checkers/judge.js";
import type { ProgramsByRecipe } from "../engine/programs.js";
import { runScenario } from "../engine/run-scenario.js";
import type { Scenario } from "../engine/scenario.js";
import { ServerPool, topologyName } from "../engine/server-pool.js";
import { catalogue } from "../scenarios/catalogue.js";
import type { Mutant } from "./mutant.js";
import { PatchedPackages, patchedText } from "./patched-packages.js";
import { Progress, type Verdict } from "./progress.js";

/** Whether scenarios of the catalogue have noticed one mutant. */
export interface MutantOutcome {
  /** The mutant. */
  readonly mutant: Mutant;
  /** The scenario that convicted it, or the last one that was tried. */
  readonly scenario: string;
  /** The checkers that convicted it there. */
  readonly convictedBy: readonly CheckerName[];
  /** Whether the same scenario came out as expected with the unchanged recipe. */
  readonly controlPassed: boolean;
  /** Whether every checker that must convict did, and the control passed. */
  readonly killed: boolean;
  /** The reason in one line. */
  readonly why: string;
  /** How long it took, in milliseconds; about 0 if the result was already known. */
  readonly tookMs: number;
}

/** The options of `runMutants()`. */
export interface RunMutantsOptions {
  /** The mutants to run. */
  readonly mutants: readonly Mutant[];
  /** The seed from which plans and workloads are drawn. */
  readonly seed: number;
  /**
   * The folder for histories of runs that did not come out as they should, and for `progress.jsonl`: runs that it
   * contains are not run again.
   */
  readonly folder: string;
  /**
   * Whether to go on through all other scenarios of the full set until one convicts. Default false: only those that the
   * mutant names.
   */
  readonly everywhere?: boolean;
  /** When it aborts, everything is taken down, and the promise rejects with the reason. */
  readonly signal?: AbortSignal;
  /** Called when a mutant is done. */
  onOutcome?(outcome: MutantOutcome): void;
}

/**
 * Runs each mutant in one scenario after the other until it is convicted. Mutants that need the same servers run one
 * after the other. Each scenario is run once with the unchanged recipe.
 */
export async function runMutants(options: RunMutantsOptions): Promise<readonly MutantOutcome[]> {
  const pool = new ServerPool();
  const progress = new Progress(options.folder, options.seed);
  const outcomes: MutantOutcome[] = [];
  const known = async (of: string, text: string, run: () => Promise<Verdict>): Promise<Verdict> =>
    progress.verdict(of, text) ?? progress.add(of, text, await run());
  const inOrder = [...options.mutants].sort((one, other) =>
    topologyName(scenarioOf(one.scenarios[0]).topology).localeCompare(
      topologyName(scenarioOf(other.scenarios[0]).topology),
    ),
  );
  try {
    for (const mutant of inOrder) {
      const startedMs = performance.now();
      const text = patchedText(mutant);
      let found: MutantOutcome | null = null;
      for (const scenario of scenariosFor(mutant, options.everywhere === true)) {
        // The result of a run is only valid for the scenario as it was then.
        const about = JSON.stringify(scenario);
        const control = await known(`control-${scenario.id}`, about, () =>
          runOnce(scenario, `control-${scenario.id}`, {}, options, pool),
        );
        const name = `${mutant.id}-${scenario.id}`;
        const verdict = await known(name, about + text, async () => {
          await using patched = new PatchedPackages(mutant);
          const program = async () => patched.worker;
          const programs = { zookeeper: program, redis: program, redlock: program };
          return await runOnce(scenario, name, programs, options, pool);
        });
        found = outcomeOf(mutant, scenario, control, verdict, performance.now() - startedMs);
        if (!found.killed) continue;
        rmSync(join(options.folder, name), { recursive: true, force: true });
        break;
      }
      if (found === null) throw new Error(`${mutant.id} names no scenario`);
      outcomes.push(found);
      options.onOutcome?.(found);
    }
  } finally {
    await pool.close();
  }
  return options.mutants.flatMap((mutant) => outcomes.filter((outcome) => outcome.mutant === mutant));
}

function scenarioOf(id: string): Scenario {
  const found = catalogue.find((scenario) => scenario.id === id);
  if (found === undefined) throw new Error(`the catalogue has no scenario ${id}`);
  return found;
}

/**
 * The scenarios that a mutant names. With `everywhere` they are followed by all scenarios of the full set that must
 * pass and have our workers at the mutant's backend.
 */
function scenariosFor({ scenarios, package: name }: Mutant, everywhere: boolean): readonly Scenario[] {
  const named = scenarios.map(scenarioOf);
  if (!everywhere) return named;
  const recipes = {
    "zk-protocol": ["zookeeper"],
    "zk-recipes": ["zookeeper"],
    "redis-recipes": ["redis", "redlock"],
  };
  const ours = (
    name in recipes ? recipes[name as keyof typeof recipes] : ["zookeeper", "redis", "redlock"]
  ) as string[];
  const others = catalogue.filter(
    (scenario) =>
      !named.includes(scenario) &&
      scenario.tags.includes("full") &&
      scenario.expect.violation === undefined &&
      scenario.groups.some(({ recipe }) => ours.includes(recipe)),
  );
  return [...named, ...others];
}

async function runOnce(
  scenario: Scenario,
  name: string,
  programs: ProgramsByRecipe,
  { seed, folder, signal }: RunMutantsOptions,
  pool: ServerPool,
): Promise<Verdict> {
  signal?.throwIfAborted();
  const own = join(folder, name);
  rmSync(own, { recursive: true, force: true });
  mkdirSync(own, { recursive: true });
  const set = await pool.take(scenario.topology);
  try {
    const { outcome, unexpected, why } = await runScenario(scenario, {
      seed,
      folder: own,
      set,
      programs,
      ...(signal !== undefined && { signal }),
    });
    await pool.giveBack(set);
    return { outcome, why, convictedBy: outcome === "violation" ? unexpected : [] };
  } catch (error) {
    // Workers of a mutant may fail in any way, and it is not known what they left behind at the servers.
    await pool.discard(scenario.topology);
    signal?.throwIfAborted();
    return { outcome: "broken", why: String(error), convictedBy: [] };
  }
}

function outcomeOf(
  mutant: Mutant,
  scenario: Scenario,
  control: Verdict,
  verdict: Verdict,
  tookMs: number,
): MutantOutcome {
  const { convictedBy } = verdict;
  const controlPassed = control.outcome === "as-expected";
  const silent = mutant.convicts.filter((name) => !convictedBy.includes(name));
  let why = verdict.why;
  if (convictedBy.length === 0) why = `${scenario.id} convicted nothing (${verdict.why})`;
  else if (silent.length > 0)
    why = `${silent.join(", ")} convicted nothing in ${scenario.id} (${verdict.why})`;
  if (!controlPassed) why = `${scenario.id} did not pass with the recipe as it is: ${control.why}`;
  return {
    mutant,
    scenario: scenario.id,
    convictedBy,
    controlPassed,
    killed: controlPassed && convictedBy.length > 0 && silent.length === 0,
    why,
    tookMs: Math.round(tookMs),
  };
}
