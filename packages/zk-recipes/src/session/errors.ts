import { BackendError } from "@holdfast/core";
import type { VainWait } from "@holdfast/core/internal";
import { errorCodes, ZooKeeperError } from "@holdfast/zk-protocol";

/** The server's answer that a node, or its parent, does not exist. */
export function saysNoNode(error: unknown): error is ZooKeeperError {
  return error instanceof ZooKeeperError && error.code === errorCodes.NoNode;
}

export function saysNodeExists(error: unknown): error is ZooKeeperError {
  return error instanceof ZooKeeperError && error.code === errorCodes.NodeExists;
}

/** The request was not sent, because there was no connection: nothing happened at the server. */
export class NotConnectedError extends Error {
  override readonly name = "NotConnectedError";
  constructor(op: string) {
    super(`${op} was not sent: there is no connection to ZooKeeper`);
  }
}

/** The request was sent, and the connection ended before its answer: the request may or may not have been applied. */
export class OutcomeUnknownError extends Error {
  override readonly name = "OutcomeUnknownError";
  constructor(op: string) {
    super(`${op} was sent, but the connection to ZooKeeper ended before its answer came`);
  }
}

/** Whether a request that ended with this `RequestError` may have been applied although no answer came. */
export function isLost(error: Error): error is OutcomeUnknownError | SessionLostError {
  return !(error instanceof ZooKeeperError) && error.name !== "NotConnectedError";
}

/**
 * The session is over. A request in flight may have been applied before that; its ephemeral nodes go in any case. `cause`
 * says why the session ended, if there is more to say than that its lease ended.
 */
export class SessionLostError extends Error {
  override readonly name = "SessionLostError";
  constructor(op: string, options?: { readonly cause?: unknown }) {
    super(
      `${op} has no result: the ZooKeeper session is over`,
      options?.cause === undefined ? undefined : { cause: options.cause },
    );
  }
}

/** The error of calls that have waited in vain for a connection. */
export function noConnection({ tookMs, refused, servers, lastCause, detail }: VainWait): BackendError {
  const what = refused ? "every server refused" : "no server answered";
  return new BackendError(
    `no connection to ZooKeeper at ${servers.join(",")} after ${tookMs} ms, ${what}${detail}`,
    { cause: lastCause, backend: "zookeeper", servers },
  );
}
