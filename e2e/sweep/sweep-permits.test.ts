import { exclusiveOperations } from "./operations/exclusive.js";
import { permitOperations } from "./operations/permits.js";
import { permitRecipes, permits } from "./recipes.js";
import { sweep } from "./sweep-tests.js";

const file = "e2e/sweep/sweep-permits.test.ts";

// Half of all points. They have their own file, so that a full run works on both halves at once.
for (const recipe of permitRecipes) sweep(recipe, exclusiveOperations, 610, file);
sweep(permits, permitOperations, 610, file);
