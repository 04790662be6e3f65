import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { drawPlan } from "../engine/plan.js";
import type { Scenario } from "../engine/scenario.js";
import { startedKinds } from "../engine/topologies/registry.js";

const members: Readonly<Record<string, (value: unknown) => boolean>> = {
  id: (value) => typeof value === "string" && /^[A-Za-z0-9][A-Za-z0-9-]*$/.test(value),
  title: (value) => typeof value === "string",
  tags: Array.isArray,
  topology: (value) => typeof (value as { kind?: unknown } | null)?.kind === "string",
  keys: (value) => typeof value === "object" && value !== null,
  groups: Array.isArray,
  runMs: (value) => typeof value === "number" && value >= 0,
  plan: (value) => typeof value === "function",
  expect: (value) => Array.isArray((value as { pass?: unknown } | null)?.pass),
  faults: Array.isArray,
  mode: (value) => typeof value === "string",
};

/**
 * Scenarios of your own: the default export of a file for `holdfast-chaos run FILE`. A group's `recipe` is the name of
 * one of this package's clients, or the URL of a module with a recipe (`new URL("./my-lock.mjs",
 * import.meta.url).href`).
 *
 * @throws RangeError for a scenario whose members are not those of `Scenario`, whose groups name keys that do not
 * exist, whose plan names unknown faults, or whose id is used twice
 */
export function defineScenarios(scenarios: readonly Scenario[]): readonly Scenario[] {
  if (!Array.isArray(scenarios)) throw new RangeError("scenarios are a list");
  const seen = new Set<string>();
  for (const scenario of scenarios as readonly Scenario[]) {
    const id = String(scenario?.id);
    for (const [name, fits] of Object.entries(members)) {
      if (!fits(scenario?.[name as keyof Scenario]))
        throw new RangeError(`scenario ${id}: ${name} is missing or wrong`);
    }
    if (seen.has(id)) throw new RangeError(`two scenarios are named ${id}`);
    seen.add(id);
    for (const { name, keys } of scenario.groups) {
      const unknown = keys.filter((key) => !Object.hasOwn(scenario.keys, key));
      if (unknown.length > 0)
        throw new RangeError(`scenario ${id}: there is no key ${unknown.join(", ")} (group ${name})`);
    }
    drawPlan(scenario, 1);
  }
  return scenarios;
}

/**
 * The scenarios of a file: its default export.
 * @throws RangeError if the file cannot be loaded, exports no scenarios, or needs servers that the runner cannot start
 */
export async function importScenarios(file: string): Promise<readonly Scenario[]> {
  let found: unknown;
  try {
    found = ((await import(pathToFileURL(resolve(file)).href)) as { default?: unknown }).default;
  } catch (error) {
    throw new RangeError(`${file}: ${(error as Error).message}`);
  }
  if (found === undefined)
    throw new RangeError(`${file} has no default export: export default defineScenarios([..])`);
  const scenarios = defineScenarios(found as readonly Scenario[]);
  for (const { id, topology } of scenarios) {
    if (startedKinds.includes(topology.kind)) continue;
    throw new RangeError(
      `${file}: scenario ${id} needs servers of kind ${topology.kind}; run starts ${startedKinds.join(", ")}`,
    );
  }
  return scenarios;
}
