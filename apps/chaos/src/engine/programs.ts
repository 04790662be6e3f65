import { existsSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { javaPrograms } from "../workload/java/java-programs.js";
import type { WorkerProgram } from "./worker-process.js";

/**
 * The worker that runs the recipes of `src/workload/recipes`, or the recipe that the module at a URL exports. Node
 * reads no TypeScript, so the built worker is used even when the runner runs from source.
 */
export function nodeWorker(module?: string): WorkerProgram {
  const worker = entryProgram("workload/worker-main.js");
  return module === undefined ? worker : { ...worker, args: [...worker.args, module] };
}

/** A built file of this package, run by the present Node. */
export function entryProgram(file: string): WorkerProgram {
  const here = dirname(fileURLToPath(import.meta.url));
  const root = here.slice(0, here.lastIndexOf(sep === "/" ? "/engine" : "\\engine"));
  const built = root.endsWith(`${sep}src`) ? join(dirname(root), "dist") : root;
  const entry = join(built, file);
  if (!existsSync(entry)) throw new Error(`${entry} is not there: build first (npm run build)`);
  return { command: process.execPath, args: ["--enable-source-maps", entry] };
}

/** Programs by the name of a recipe, for workers that are not our Node worker. A recipe that is the URL of a file needs none. */
export type ProgramsByRecipe = Readonly<Record<string, () => Promise<WorkerProgram>>>;

export async function programOf(recipe: string, others: ProgramsByRecipe = {}): Promise<WorkerProgram> {
  const program = others[recipe] ?? javaPrograms[recipe];
  return (await program?.()) ?? nodeWorker(recipe.startsWith("file:") ? recipe : undefined);
}
