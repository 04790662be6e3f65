import { BackendError, LayoutConflictError } from "@holdfast/core";
import { errorCodes, parentOf, type Stat } from "@holdfast/zk-protocol";
import {
  type CallInfo,
  outcomeOf,
  type RetryingRequests,
  refusalOf,
} from "../recipes/requests/retrying-requests.js";
import type { FoundNode } from "../recipes/requests/watched-node.js";
import { isPassing } from "../recipes/session/failures.js";
import type { SessionContext } from "../recipes/session-context.js";
import { isLost } from "../session/errors.js";
import type { Outcome, ZooKeeperSession } from "../session/types.js";

/**
 * What happened to a write whose answer was lost, as the present node shows. `"unchanged"`: nothing was written since, so
 * our write was not applied. `"passed-over"`: exactly one write was applied since, and it was not ours; the condition of
 * ours can never be true again. `"unknown"`: our write may be among the writes since.
 */
export type Verdict = "unchanged" | "passed-over" | "unknown";

/** When and how a write was sent. */
export interface SentAt {
  readonly session: ZooKeeperSession;
  /** The session's `lastZxid` right before the write was sent. */
  readonly sinceZxid: bigint;
}

/** A write whose answer was lost. */
export interface LostWrite extends SentAt {
  /** The node before the write, `null` if there was none. */
  readonly seen: Stat | null;
}

/**
 * The present moment for a write that is sent next. A session that has had no answer yet knows no transaction, so it asks for
 * one first.
 */
export async function nowOf({ session }: SessionContext, path: string): Promise<SentAt> {
  if (session.lastZxid === 0n) await outcomeOf(session, "exists", { path, watch: false });
  return { session, sinceZxid: session.lastZxid };
}

/**
 * Whether the server may still get and apply a write that it has not applied yet. A reconnect moves the session, and the server
 * then refuses what the old connection still carries. A session that ended here first, by its lease, may live on at the server
 * with its old connection, beside the session that reads now.
 */
export function mayStillCome({ session }: SentAt): boolean {
  return session.lossReason === "lease";
}

/**
 * Judges a write whose answer was lost. `now` was read behind a `sync`.
 *
 * The number of writes begins anew with each node. So a node that our write would have made may have been made by us,
 * deleted, and made again by another client. Only if no node has been there since can it be said that ours was not made.
 */
export async function judgeLost(
  calls: RetryingRequests,
  call: CallInfo,
  lost: LostWrite,
  now: FoundNode | null,
  written: Uint8Array,
): Promise<Verdict> {
  if (lost.seen !== null) return judge(lost.seen, now, written);
  const absent = now === null && (await absentSince(calls, call, lost.sinceZxid));
  return absent && !mayStillCome(lost) ? "unchanged" : "unknown";
}

/** Judges the lost write of a node that was there before it. */
export function judge(seen: Stat, now: FoundNode | null, written: Uint8Array): Verdict {
  if (now === null || now.stat.czxid !== seen.czxid) return "unknown";
  const writesSince = (now.stat.version - seen.version) | 0;
  if (writesSince === 0) return "unchanged";
  const someoneElses = now.data === null || Buffer.compare(now.data, written) !== 0;
  return writesSince === 1 && someoneElses ? "passed-over" : "unknown";
}

/**
 * Whether the node, which is not there now, has been absent since `sinceZxid` without a break. The pzxid of a parent is
 * the zxid at which a child of it was last made or deleted. If the parent is not there either, its own parent shows how
 * long that has been so. The paths are the server's own, whose root is always there.
 */
export async function absentSince(
  calls: RetryingRequests,
  call: CallInfo,
  sinceZxid: bigint,
): Promise<boolean> {
  for (let path = parentOf(call.path); ; path = parentOf(path)) {
    const above = await calls.readSynced({ ...call, path });
    if (above !== null) return above.stat.pzxid <= sinceZxid;
  }
}

/**
 * Throws `LayoutConflictError` for a node that goes by itself: one with an owner, such as that of a naive mutex or of a
 * member, and one that looks like a container, as parents of locks are. ZooKeeper deletes a container together with its
 * data, some time after its last child. No server says whether a node is a container. So a node counts as a container if
 * it has no data, was never written, and has or had children.
 */
export function checkLasting(
  { lockName, path }: CallInfo,
  { dataLength, version, cversion, ephemeralOwner }: Stat,
): void {
  if (ephemeralOwner !== 0n) {
    throw new LayoutConflictError(
      `${path} is ephemeral, as the node of a naive mutex or of a member is, and goes with its owner. Choose another name`,
      { lockName, backend: "zookeeper" },
    );
  }
  if (dataLength > 0 || version !== 0 || cversion === 0) return;
  throw new LayoutConflictError(
    `${path} has or had children and was never written: it was made as the parent of a lock, and ZooKeeper deletes such a node once it has no children, whatever was written into it. Choose another name; if it is a node that stays, write something into it first`,
    { lockName, backend: "zookeeper" },
  );
}

/**
 * Writes `data` if the node is still as it was `seen` (`null`: it did not exist), at most once. Resolves to the node's
 * stat, or to `null` if nothing was written because another client was faster.
 *
 * When the answer is lost, the node is read behind a `sync`, and where it was to be made and is not there, its parent too.
 * If that proves that the write was not applied, the write is sent again under the same condition. If it does not, or if
 * the node cannot be read, this rejects with a `BackendError` that is not retryable. So it does where the write may still
 * come and cannot be sent again: the caller would make the call anew, under the version that a late write has made.
 */
export async function conditionalWrite(
  calls: RetryingRequests,
  call: CallInfo,
  seen: Stat | null,
  data: Uint8Array,
  what: string,
): Promise<Stat | null> {
  const startedMs = calls.runtime.nowMs();
  let doubtful = false;
  /** A write of this call may still come. Its condition keeps it from being applied beside the next write, if that is sent. */
  let late = false;
  const doubting = <T>(work: Promise<T>): Promise<T> => (late ? inDoubt(calls, call, what, work) : work);
  if (seen !== null) checkLasting(call, seen);
  for (let tries = 1; ; tries++) {
    const context = await doubting(calls.connected(call));
    const lost = { seen, ...(await nowOf(context, call.path)) };
    if (context.over) continue;
    const outcome = await send(calls, context, call, seen, data);
    if (outcome.ok) return outcome.value;
    const { error } = outcome;
    const refusal = refusalOf(error);
    if (refusal === null) {
      if (!isLost(error)) continue;
      doubtful = true;
    } else if (isPassing(refusal)) {
      await doubting(calls.rest(call, tries, startedMs, error));
      continue;
    } else if (!isCondition(refusal.code)) {
      throw calls.failure(call, error);
    } else if (!doubtful) {
      return null;
    }
    const now = await inDoubt(calls, call, what, calls.readSynced(call));
    const verdict = await inDoubt(calls, call, what, judgeLost(calls, call, lost, now, data));
    if (verdict === "passed-over") return null;
    if (verdict === "unknown") throw unknown(calls, call, what);
    late ||= mayStillCome(lost);
    if (tries > 1) await doubting(calls.rest(call, tries, startedMs, error));
  }
}

async function send(
  calls: RetryingRequests,
  context: SessionContext,
  call: CallInfo,
  seen: Stat | null,
  data: Uint8Array,
): Promise<Outcome<Stat>> {
  const { path } = call;
  const outcome =
    seen === null
      ? await calls.create(context, call, { path, data, ephemeral: false })
      : await outcomeOf(context.session, "setData", { path, data, version: seen.version });
  return outcome.ok ? { ...outcome, value: outcome.value.stat } : outcome;
}

/**
 * `work` finds out what became of a write whose answer was lost. If it fails too, the write may have been applied. So the
 * call rejects with `unknown`, and not with the error of `work`, which may say that the call can be made again.
 */
export function inDoubt<T>(
  calls: RetryingRequests,
  call: CallInfo,
  what: string,
  work: Promise<T>,
): Promise<T> {
  return work.catch((cause: unknown) => {
    throw cause instanceof BackendError ? unknown(calls, call, what, cause) : cause;
  });
}

/**
 * The error for a write whose outcome is unknown. Not retryable, because the same call again might count twice. `cause`: why
 * the node could not be read after the write.
 */
export function unknown(
  calls: RetryingRequests,
  { lockName, path }: CallInfo,
  what: string,
  cause?: BackendError,
): BackendError {
  const { servers } = calls.sessions.context.session;
  const shows = cause === undefined ? "does not tell" : `could not be read (${cause.message})`;
  const message = `${what} of ${lockName}: the answer was lost, and what is at ${path} now ${shows}: it may or may not have been applied`;
  return new BackendError(message, { lockName, backend: "zookeeper", servers, retryable: false, cause });
}

/** Whether the server refused because the node is not as it was when it was read. */
export function isCondition(code: number): boolean {
  return code === errorCodes.BadVersion || code === errorCodes.NoNode || code === errorCodes.NodeExists;
}

/**
 * Writes `data` whatever the node has, and makes the node if there is none. `known`: the last state that the caller has
 * seen, `null` if it has seen none. After a lost answer nothing but that, or a node that has been absent ever since, can
 * prove that nothing was applied. If the node then has exactly `data`, that is as good as an answer. Where the write may still
 * come, nothing proves it.
 */
export async function forcedWrite(
  calls: RetryingRequests,
  call: CallInfo,
  known: Stat | null,
  data: Uint8Array,
): Promise<Stat> {
  const startedMs = calls.runtime.nowMs();
  let absent = false;
  for (let tries = 1; ; tries++) {
    const context = await calls.connected(call);
    const { path } = call;
    const lost = { seen: absent ? null : known, ...(await nowOf(context, path)) };
    if (context.over) continue;
    const outcome = absent
      ? await calls.create(context, call, { path, data, ephemeral: false })
      : await outcomeOf(context.session, "setData", { path, data, version: -1 });
    if (outcome.ok) return outcome.value.stat;
    const { error } = outcome;
    const refusal = refusalOf(error);
    if (refusal === null) {
      if (!isLost(error)) continue;
      const now = await inDoubt(calls, call, "set", calls.readSynced(call));
      // This write has no condition, so it would be applied over whatever is there when it comes.
      if (mayStillCome(lost)) throw unknown(calls, call, "set");
      if (now?.data != null && Buffer.compare(now.data, data) === 0) return now.stat;
      // The node may have had our data before another client deleted it. It must not come back then.
      const verdict = await inDoubt(calls, call, "set", judgeLost(calls, call, lost, now, data));
      if (verdict === "unknown") throw unknown(calls, call, "set");
      if (tries === 1) continue;
    } else if (refusal.code === errorCodes.NoNode || refusal.code === errorCodes.NodeExists) {
      absent = refusal.code === errorCodes.NoNode;
      if (tries <= 2) continue;
    } else if (!isPassing(refusal)) {
      throw calls.failure(call, error);
    }
    await calls.rest(call, tries, startedMs, error);
  }
}
