import { BackendError, type GrantRequest, LayoutConflictError } from "@holdfast/core";
import type { Conflict } from "../scripts/mutex/answers.js";

/** There is something at the lock's keys that is no lock of this kind. */
export function conflictError(
  { found }: Conflict,
  { name, kind }: Pick<GrantRequest, "name" | "kind">,
): LayoutConflictError {
  const what =
    found === "token"
      ? "its token key holds something that is no token"
      : `its key holds ${found === "read-write-lock" ? "a read-write lock" : `a Redis ${found}`}`;
  return new LayoutConflictError(`"${name}" cannot be a ${kind}: ${what}`, {
    lockName: name,
    backend: "redis",
  });
}

/** The acquire came to the server after the date until which it was to be executed. */
export function lateError(lockName: string): BackendError {
  return new BackendError("Redis took the request up only after its time, and did nothing", {
    backend: "redis",
    lockName,
  });
}
