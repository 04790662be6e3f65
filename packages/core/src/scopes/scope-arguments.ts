import { InvalidArgumentError } from "../api/errors.js";
import { show } from "../options/checks.js";
import type { ScopeBody } from "./run-scope.js";

/** Sorts out `withLock(body)` and `withLock(options, body)`. */
export function scopeArguments<O, T>(
  first: O | ScopeBody<T>,
  second: ScopeBody<T> | undefined,
): { options: O | undefined; body: ScopeBody<T> } {
  if (typeof second === "function") return { options: first as O, body: second };
  if (typeof first === "function" && second === undefined) {
    return { options: undefined, body: first as ScopeBody<T> };
  }
  throw new InvalidArgumentError(`withLock: the body must be a function; got ${show(second ?? first)}`);
}
