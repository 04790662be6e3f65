import type { Recipe } from "../recipe.js";

/**
 * The recipes by the names that groups of workers use. A recipe is loaded when it is needed, so that a worker loads
 * only its own client.
 */
const recipes: Readonly<Record<string, () => Promise<Recipe>>> = {
  zookeeper: async () => (await import("./zookeeper.js")).zookeeper,
  redis: async () => (await import("./redis.js")).redis,
  redlock: async () => (await import("./redlock.js")).redlock,
  "naive-key": async () => (await import("./naive-key.js")).naiveKey,
  "naive-node": async () => (await import("./naive-node.js")).naiveNode,
};

export const recipeNames: readonly string[] = Object.keys(recipes);

export async function openRecipe(name: string): Promise<Recipe> {
  const load = recipes[name];
  if (load === undefined) throw new Error(`no recipe is named ${name}: ${recipeNames.join(", ")}`);
  return await load();
}
