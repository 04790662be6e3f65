import { LayoutConflictError } from "@holdfast/core";
import { ofLock, ReplyError } from "../../client/errors.js";

/**
 * Turns Redis's WRONGTYPE into a `LayoutConflictError`; returns any other error unchanged. Scripts check what is under the lock's
 * own key, and report what they found. The keys beside it (queues, liveness) are used only by us and Redisson. If one of them
 * holds something else, Redis itself refuses the command, which means the same conflict.
 */
export function conflictIn(keys: readonly string[], error: unknown): unknown {
  if (!(error instanceof ReplyError) || !/^WRONGTYPE\b/.test(error.reply)) return error;
  const shown = keys.map((key) => JSON.stringify(key)).join(", ");
  return new LayoutConflictError(
    `one of the keys ${shown} holds something else than a lock keeps there: ${error.reply.slice(0, 66)}`,
    { cause: error, lockName: keys[0], backend: "redis" },
  );
}

/** `lockName`: as the caller gave it; `found`: what a script found at the key in place of `expected`. */
export function foundElse(
  lockName: string,
  key: string,
  found: string,
  expected: string,
): LayoutConflictError {
  return new LayoutConflictError(
    `the key ${JSON.stringify(key)} holds something else (${found}) than ${expected}`,
    ofLock(lockName),
  );
}
