import type { RedisDesk } from "../desk.js";
import { inspectMutex } from "../inspect-mutex.js";
import { mutexRecipe } from "../mutex-recipe.js";
import { PolledAttempt } from "../polled-attempt.js";
import type { Recipe } from "../recipe.js";
import { spinLock } from "./spin-mutex.js";

const kind = "spin-mutex";

/** Redisson's `RSpinLock`. Nobody can be seen waiting for one; who waits for a plain mutex of the same name is shown. */
export function spinRecipe(desk: RedisDesk): Recipe {
  const { requestRevoke, force } = mutexRecipe(desk, kind);
  return {
    attempt: (request, key, listener) =>
      new PolledAttempt(desk, spinLock(desk, request.name, key), request, listener),
    async inspect(name, key, options) {
      return { ...(await inspectMutex(desk, kind, name, key, options)), pendingTotal: null };
    },
    ...(requestRevoke && { requestRevoke }),
    ...(force && { force }),
  };
}
