import { type Provides, readProvides } from "./provides.js";
import type { Recipe } from "./recipe.js";

/** A client of a lock service that `holdfast-chaos run --client FILE` can judge: the default export of that file. */
export interface DefinedRecipe extends Recipe {
  /** What the client can do. */
  readonly provides: Provides;
}

/**
 * Describes a client of a lock service to the chaos runner. The runner opens it once in each worker process. The runner
 * itself provides the turns, the protected resource and the records.
 *
 * @example
 * ```ts
 * import { type DefinedRecipe, defineRecipe } from "@holdfast/chaos";
 *
 * // Two processes that ask at the same moment both see it free: any run convicts this one.
 * const held = new Set<string>();
 * const recipe: DefinedRecipe = defineRecipe({
 *   provides: { kinds: ["mutex"], servers: ["redis"] },
 *   open: async () => ({
 *     async acquire({ key, signal }) {
 *       while (held.has(key.name)) {
 *         if (signal.aborted) return null;
 *         await new Promise((resolve) => setTimeout(resolve, 10));
 *       }
 *       held.add(key.name);
 *       return {
 *         token: null,
 *         lost: null,
 *         remainingMs: () => null,
 *         release: async () => (held.delete(key.name) ? { end: "ok" } : { end: "fail", why: "not ours" }),
 *       };
 *     },
 *     meaning: () => "info",
 *     close: async () => {},
 *   }),
 * });
 * export default recipe;
 * ```
 *
 * @throws RangeError if `provides` has an unknown member, or a member of another type
 * @throws TypeError if there is no function `open`
 */
export function defineRecipe(recipe: DefinedRecipe): DefinedRecipe {
  if (typeof recipe?.open !== "function") throw new TypeError("a recipe has a function open");
  return { ...recipe, provides: readProvides(recipe.provides), open: (context) => recipe.open(context) };
}

/** The default export of a module. @throws TypeError for a module that exports no recipe */
export async function importRecipe(url: string): Promise<DefinedRecipe> {
  const { default: recipe } = (await import(url)) as { default?: unknown };
  if (typeof recipe !== "object" || recipe === null) {
    throw new TypeError(`${url} has no default export: export default defineRecipe({ provides, open })`);
  }
  return defineRecipe(recipe as DefinedRecipe);
}
