import { InvalidArgumentError } from "../api/errors.js";
import type { LockHandle } from "../api/handle.js";
import { show } from "../options/checks.js";
import type { ScopeBody } from "./run-scope.js";

/**
 * Sorts the arguments of `withLock(body)` and `withLock(options, body)`, and of similar methods. `method`: its name, for
 * messages.
 */
export function scopeArguments<O, T, H = LockHandle>(
  method: string,
  first: O | ScopeBody<T, H>,
  second: ScopeBody<T, H> | undefined,
): { options: O | undefined; body: ScopeBody<T, H> } {
  if (typeof second === "function") return { options: first as O, body: second };
  if (typeof first === "function" && second === undefined)
    return { options: undefined, body: first as ScopeBody<T, H> };
  const hint = typeof first === "function" ? "; options come before the body" : "";
  throw new InvalidArgumentError(
    `${method}: the body must be a function; got ${show(second ?? first)}${hint}`,
  );
}
