import type { PrimitiveKind } from "@holdfast/core";
import type { RedisDesk } from "../recipes/desk.js";
import { electionRecipe } from "../recipes/election/election-recipe.js";
import { fairRecipe } from "../recipes/fair/fair-recipe.js";
import { mutexRecipe } from "../recipes/mutex-recipe.js";
import { readWriteRecipe } from "../recipes/read-write/read-write-recipe.js";
import type { Recipe } from "../recipes/recipe.js";
import { permitSemaphoreRecipe, semaphoreRecipe } from "../recipes/semaphore/semaphore-recipes.js";
import { spinRecipe } from "../recipes/spin/spin-recipe.js";

/** Who does what: one line for each kind that is a grant. */
export function recipesOf(desk: RedisDesk): ReadonlyMap<PrimitiveKind, Recipe> {
  return new Map<PrimitiveKind, Recipe>([
    ["mutex", mutexRecipe(desk, "mutex")],
    ["reentrant-mutex", mutexRecipe(desk, "reentrant-mutex")],
    ["fair-mutex", fairRecipe(desk)],
    ["spin-mutex", spinRecipe(desk)],
    ["read-write-lock", readWriteRecipe(desk, "read-write-lock")],
    ["reentrant-read-write-lock", readWriteRecipe(desk, "reentrant-read-write-lock")],
    ["semaphore", semaphoreRecipe(desk)],
    ["permit-semaphore", permitSemaphoreRecipe(desk)],
    ["leader-election", electionRecipe(desk)],
  ]);
}
