import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Capability } from "./capability.js";
import { decide } from "./decide.js";
import { needsOf } from "./needs.js";
import type { RunOutcome, ScenarioOutcome } from "./outcome.js";
import type { ProgramsByRecipe } from "./programs.js";
import { aboutOf, type Progress, runScenario } from "./run-scenario.js";
import type { PlannedFault, Scenario, Topology } from "./scenario.js";
import { ServerPool, topologyName } from "./server-pool.js";

/** The options of `run()`. */
export interface RunOptions {
  /** The scenarios to run. Each gives one outcome. */
  readonly scenarios: readonly Scenario[];
  /** The seed from which plans and workloads are drawn. */
  readonly seed: number;
  /** The folder in which each scenario gets a folder named by its id. */
  readonly folder: string;
  /** The capabilities of this machine. A scenario that needs more is skipped. */
  readonly capabilities: readonly Capability[];
  /**
   * How many groups of scenarios run at a time. Scenarios of one topology always run one after the other. Default 1.
   */
  readonly jobs?: number;
  /** No scenario is begun after this time. */
  readonly timeBudgetMs?: number;
  /** Which folders of scenarios stay. Default `failed`: those of all scenarios that did not come out as expected. */
  readonly keep?: "always" | "failed";
  /** Plans by the id of a scenario. They replace the drawn plans. */
  readonly plans?: Readonly<Record<string, readonly PlannedFault[]>>;
  /** Worker programs by the name of a recipe, in place of those of this package. */
  readonly programs?: ProgramsByRecipe;
  /** The servers to use. Default: a pool of its own. `run()` closes it either way. */
  readonly pool?: ServerPool;
  /** When it aborts, everything is taken down, and the promise rejects with the reason. */
  readonly signal?: AbortSignal;
  /** Called now and then while a scenario runs. */
  onProgress?(id: string, progress: Progress): void;
  /** Called when a scenario has an outcome. `run()` waits for its promise. */
  onOutcome?(outcome: ScenarioOutcome): void | Promise<void>;
}

/**
 * Runs scenarios. Those of one topology run on one set of servers. Rejects only when `signal` aborts; nothing is left
 * running then.
 */
export async function run(options: RunOptions): Promise<RunOutcome> {
  const startedAt = new Date().toISOString();
  const startedMs = performance.now();
  const pool = options.pool ?? new ServerPool();
  const groups = groupsOf(options);
  const outcomes = new Map<string, ScenarioOutcome>();
  const settle = async (outcome: ScenarioOutcome): Promise<void> => {
    outcomes.set(outcome.scenario.id, outcome);
    await options.onOutcome?.(outcome);
  };
  try {
    let next = 0;
    const lane = async (): Promise<void> => {
      for (let group = groups[next++]; group !== undefined; group = groups[next++]) {
        pool.prepare(group.topology);
        // Start the servers of the next group while this group runs.
        const ahead = groups[next];
        if (ahead !== undefined) pool.prepare(ahead.topology);
        for (const scenario of group.scenarios) await settle(await one(scenario, options, pool, startedMs));
        await pool.discard(group.topology);
      }
    };
    for (const scenario of options.scenarios) {
      const missing = needsOf(scenario).filter((need) => !options.capabilities.includes(need));
      const cannot = scenario.subject?.cannot;
      if (cannot !== undefined) await settle(notRun(scenario, options, "skipped", `not judged: ${cannot}`));
      else if (missing.length > 0) await settle(skipped(scenario, options, missing));
    }
    await Promise.all(Array.from({ length: options.jobs ?? 1 }, lane));
  } finally {
    await pool.close();
  }
  return {
    seed: options.seed,
    startedAt,
    tookMs: Math.round(performance.now() - startedMs),
    outcomes: options.scenarios.flatMap(({ id }) => outcomes.get(id) ?? []),
  };
}

interface Group {
  readonly topology: Topology;
  readonly scenarios: Scenario[];
}

function groupsOf({ scenarios, capabilities }: RunOptions): Group[] {
  const groups = new Map<string, Group>();
  for (const scenario of scenarios) {
    if (scenario.subject?.cannot !== undefined) continue;
    if (needsOf(scenario).some((need) => !capabilities.includes(need))) continue;
    const name = topologyName(scenario.topology);
    const group = groups.get(name);
    if (group === undefined) groups.set(name, { topology: scenario.topology, scenarios: [scenario] });
    else group.scenarios.push(scenario);
  }
  return [...groups.values()];
}

async function one(
  scenario: Scenario,
  options: RunOptions,
  pool: ServerPool,
  startedMs: number,
): Promise<ScenarioOutcome> {
  const { signal, timeBudgetMs, seed } = options;
  signal?.throwIfAborted();
  const beganMs = performance.now();
  if (timeBudgetMs !== undefined && beganMs - startedMs > timeBudgetMs) {
    return notRun(scenario, options, "unknown", "not run: the time budget was over");
  }
  if (scenario.judgeAlone !== undefined) return await alone(scenario, options, beganMs);
  const folder = join(options.folder, scenario.id);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  try {
    options.onProgress?.(scenario.id, { phase: "servers", elapsedMs: 0, grants: 0, faults: 0 });
    const set = await pool.take(scenario.topology);
    signal?.throwIfAborted();
    const plan = options.plans?.[scenario.id];
    const outcome = await runScenario(scenario, {
      seed,
      folder,
      set,
      capabilities: options.capabilities,
      onProgress: (progress) => options.onProgress?.(scenario.id, progress),
      ...(plan === undefined ? {} : { plan }),
      ...(options.programs === undefined ? {} : { programs: options.programs }),
      ...(signal === undefined ? {} : { signal }),
    });
    await pool.giveBack(set);
    if (options.keep === "always" || outcome.outcome !== "as-expected") return outcome;
    rmSync(folder, { recursive: true, force: true });
    return { ...outcome, folder: null };
  } catch (error) {
    // It is not known what the failed run left behind at its servers.
    await pool.discard(scenario.topology);
    signal?.throwIfAborted();
    const why = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return {
      ...notRun(scenario, options, "broken", why),
      folder,
      tookMs: Math.round(performance.now() - beganMs),
    };
  }
}

async function alone(scenario: Scenario, options: RunOptions, beganMs: number): Promise<ScenarioOutcome> {
  try {
    const results = (await scenario.judgeAlone?.()) ?? [];
    const decision = decide(scenario.expect, results);
    return {
      ...notRun(scenario, options, "unknown", ""),
      ...decision,
      ...(decision.outcome === "as-expected"
        ? { why: results.map(({ summary }) => summary).join("; ") }
        : {}),
      results,
      tookMs: Math.round(performance.now() - beganMs),
    };
  } catch (error) {
    return notRun(scenario, options, "broken", String(error));
  }
}

const skipped = (
  scenario: Scenario,
  options: RunOptions,
  missing: readonly Capability[],
): ScenarioOutcome => ({
  ...notRun(scenario, options, "skipped", `this machine has no ${missing.join(", no ")}`),
  missing,
});

/** The outcome of a scenario that was not run, or not to its end. */
export function notRun(
  scenario: Scenario,
  { seed, capabilities }: Pick<RunOptions, "seed" | "capabilities">,
  outcome: ScenarioOutcome["outcome"],
  why: string,
): ScenarioOutcome {
  return {
    scenario: aboutOf(scenario),
    outcome,
    why,
    seed,
    tookMs: 0,
    missing: [],
    plan: [],
    results: [],
    unexpected: [],
    metrics: {},
    versions: {},
    capabilities,
    folder: null,
  };
}
