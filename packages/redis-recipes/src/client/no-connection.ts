import { BackendError } from "@holdfast/core";
import type { VainWait } from "@holdfast/core/internal";
import { MissingRightError, refusalOf } from "./rights.js";
import { ClusterNodeError, ServerTooOldError } from "./suitable.js";

/** The error for a caller that waited in vain for a connection. */
export function noConnection({ tookMs, refused, servers, lastCause, detail }: VainWait): BackendError {
  const details = { servers, cause: lastCause };
  // Each waiter gets an error object of its own, of the class that says what to change.
  if (lastCause instanceof ServerTooOldError) return new ServerTooOldError(lastCause.version, details);
  if (lastCause instanceof ClusterNodeError) return new ClusterNodeError(details);
  if (lastCause instanceof MissingRightError) {
    return new MissingRightError(lastCause.rights, lastCause.reply, details);
  }
  if (lastCause instanceof Error && lastCause.message.startsWith("NOPERM")) {
    const denied = refusalOf(lastCause.message, details, null);
    if (denied instanceof MissingRightError) return denied;
  }
  const what = refused ? "every server refused" : "no master answered";
  // Wrong credentials do not become right by waiting.
  const retryable = !/WRONGPASS|NOAUTH|NOPERM/.test(detail);
  return new BackendError(
    `no connection to Redis at ${servers.join(",")} after ${tookMs} ms, ${what}${detail}`,
    { ...details, backend: "redis", retryable },
  );
}
