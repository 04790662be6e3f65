import { InvalidArgumentError, type LockHandle, UnsupportedError } from "@holdfast/core";
import { Handle, show } from "@holdfast/core/internal";
import {
  CreateFlags,
  errorCodes,
  type MultiOp,
  type MultiResponse,
  multiFailure,
  ZooKeeperError,
} from "@holdfast/zk-protocol";
import { ZooKeeperGrant } from "../recipes/grant/zookeeper-grant.js";
import {
  type CallInfo,
  outcomeOf,
  type RetryingRequests,
  refusalOf,
} from "../recipes/requests/retrying-requests.js";
import { isPassing } from "../recipes/session/failures.js";
import { isLost } from "../session/errors.js";
import type { GuardedOp } from "./api.js";
import { unknown } from "./conditional-write.js";

/**
 * Sends `ops` behind a check of the lock's own nodes, in one transaction. If one of these nodes is gone the server
 * refuses the whole transaction, even if this client still believes that it holds. The transaction is applied at most
 * once.
 */
export async function guardedWrite(
  calls: RetryingRequests,
  handle: LockHandle,
  ops: readonly GuardedOp[],
): Promise<void> {
  const grant = grantOf(calls, handle);
  const call: CallInfo = { lockName: handle.name, path: grant.backendId, patient: true };
  const own = grant.nodes.map(({ path }): MultiOp => ({ op: "check", request: { path, version: -1 } }));
  const theirs = readOps(calls, ops);
  const startedMs = calls.runtime.nowMs();
  for (let tries = 1; ; tries++) {
    const context = await calls.connected(call);
    handle.assertHeld();
    // Another session has no such node. The holder is notified separately that our session is over.
    if (context !== grant.context) throw Handle.holdOf(handle as Handle).lossError();
    const outcome = await outcomeOf(context.session, "multi", { ops: [...own, ...theirs] });
    const refused = outcome.ok ? refusalIn(outcome.value, own, theirs) : refusalOf(outcome.error);
    if (outcome.ok && refused === null) return;
    if (refused === "lost") {
      grant.gone();
      throw Handle.holdOf(handle as Handle).lossError();
    }
    if (refused !== null && !isPassing(refused)) throw calls.failure(call, refused);
    // If there was no connection, nothing was sent. If the answer was lost, the outcome is unknown.
    if (!outcome.ok && isLost(outcome.error)) throw unknown(calls, call, "guarded");
    if (refused !== null) await calls.rest(call, tries, startedMs, refused);
  }
}

function grantOf(calls: RetryingRequests, handle: LockHandle): ZooKeeperGrant {
  const hold = handle instanceof Handle ? Handle.holdOf(handle) : undefined;
  if (hold === undefined || hold.engine !== calls.engine)
    throw new InvalidArgumentError(`guarded: not a handle of this provider; got ${show(handle)}`);
  handle.assertHeld();
  const grant = hold.grantToBuildOn();
  if (grant instanceof ZooKeeperGrant && grant.parts.sharedNames !== true) return grant;
  throw new UnsupportedError(`guarded: the next holder of "${handle.name}" has a node of the same name`, {
    lockName: handle.name,
    backend: "zookeeper",
  });
}

/**
 * The refusal in an answer. `"lost"`: one of the lock's own nodes is gone. A check that is refused for another reason,
 * such as missing rights, does not show that.
 */
function refusalIn(
  answer: MultiResponse,
  own: readonly MultiOp[],
  theirs: readonly MultiOp[],
): ZooKeeperError | "lost" | null {
  const failure = multiFailure(answer);
  if (failure === undefined) return null;
  if (failure.index < own.length && failure.code === errorCodes.NoNode) return "lost";
  const { op, request } = [...own, ...theirs][failure.index] as MultiOp;
  return new ZooKeeperError(failure.code, { op, path: request.path });
}

function readOps(calls: RetryingRequests, ops: readonly GuardedOp[]): readonly MultiOp[] {
  if (!Array.isArray(ops) || ops.length === 0)
    throw new InvalidArgumentError(`guarded: ops must be a list of at least one; got ${show(ops)}`);
  return (ops as readonly GuardedOp[]).map((each) => readOp(calls, each));
}

function readOp(calls: RetryingRequests, given: GuardedOp): MultiOp {
  const path = calls.pathOf(given?.path);
  switch (given.op) {
    case "create": {
      const data = bytesOf(given.data ?? new Uint8Array());
      const acl = calls.settings.aclOf(path);
      return { op: "create2", request: { path, data, acl, flags: CreateFlags.persistent } };
    }
    case "set":
      return { op: "setData", request: { path, data: bytesOf(given.data), version: versionOf(given) } };
    case "delete":
    case "check":
      return { op: given.op, request: { path, version: versionOf(given) } };
    default:
      throw new InvalidArgumentError(
        `guarded: op must be "create", "set", "delete" or "check"; got ${show((given as { op: unknown }).op)}`,
      );
  }
}

function bytesOf(data: unknown): Uint8Array {
  if (data instanceof Uint8Array) return data;
  throw new InvalidArgumentError(`guarded: data must be a Uint8Array; got ${show(data)}`);
}

function versionOf({ version = -1 }: { readonly version?: number }): number {
  if (Number.isInteger(version) && version >= -1 && version <= 0x7fffffff) return version;
  throw new InvalidArgumentError(
    `guarded: version must be a whole number from 0, or left out; got ${show(version)}`,
  );
}
