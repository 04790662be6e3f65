import { BackendError, EvictedError, type Millis, UnsupportedError } from "@holdfast/core";
import { errorCodes, ZooKeeperError } from "@holdfast/zk-protocol";
import { isPassingCode } from "../../client/passing.js";
import { saysNoNode } from "../../session/errors.js";
import type { RequestError, ZooKeeperSession } from "../../session/types.js";

const advice: Readonly<Record<number, string>> = {
  [errorCodes.NoAuth]:
    "no permission: check the options auth and acl, and the ACL of that node and its parent",
  [errorCodes.InvalidACL]: "the server does not take this ACL: check the options acl and auth",
  [errorCodes.QuotaExceeded]: "a quota on this subtree is used up: raise it with setquota",
  [errorCodes.NoChildrenForEphemerals]:
    "a parent of it is an ephemeral node, perhaps the node of another lock",
  [errorCodes.ThrottledOp]: "the server is overloaded and refused the request",
};

/** The pause before a request is sent again that was refused for the moment, or for good for the first time. */
export const firstPauseMs: Millis = 250;
const longestPauseMs: Millis = 30_000;

/**
 * The pause after the next refusal. A request that no caller waits for, and that is refused for good, is sent again ever
 * less often.
 */
export function longerPauseMs(pauseMs: Millis): Millis {
  return Math.min(2 * pauseMs, longestPauseMs);
}

/** Whether the server may well accept the same request a little later. */
export function isPassing(error: RequestError | Error): boolean {
  return error instanceof ZooKeeperError && isPassingCode(error.code);
}

/** Whether the server has refused the request and would refuse it again. */
export function isFinal(error: RequestError | Error): error is ZooKeeperError {
  return error instanceof ZooKeeperError && !isPassing(error);
}

/** The typed error for a request that failed for good: what was tried, what the server answered, and what to change. */
export function requestFailure(
  what: string,
  cause: Error,
  session: ZooKeeperSession,
  lockName?: string,
): BackendError | UnsupportedError {
  const { servers } = session;
  const details = { cause, backend: "zookeeper", lockName } as const;
  if (!(cause instanceof ZooKeeperError)) {
    return new BackendError(`${what}: ${cause.message}`, { ...details, servers });
  }
  if (cause.code === errorCodes.Unimplemented) {
    return new UnsupportedError(
      `${what}: the server does not know this request; ZooKeeper 3.5.1 or later is needed`,
      details,
    );
  }
  const hint = advice[cause.code];
  const said = `${what}: ${cause.codeName}${hint === undefined ? "" : `, ${hint}`}`;
  return new BackendError(said, { ...details, servers, retryable: isPassing(cause) });
}

/** The answer, or `null` if there is no such node. Any other failure rejects with the error that `requestFailure` makes. */
export async function orNone<T>(
  asked: Promise<T>,
  what: string,
  session: ZooKeeperSession,
  lockName?: string,
): Promise<T | null> {
  try {
    return await asked;
  } catch (error) {
    if (saysNoNode(error)) return null;
    throw requestFailure(what, error as Error, session, lockName);
  }
}

/** The error of a waiter whose queue node was deleted while its session lives. */
export function eviction(lockName: string, path: string): EvictedError {
  return new EvictedError(
    `${lockName}: the queue node ${path} was deleted by another client or an operator while its session lives`,
    { lockName, backend: "zookeeper" },
  );
}
