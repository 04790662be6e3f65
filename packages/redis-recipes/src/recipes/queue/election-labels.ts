import { BackendError, LockLostError, type Millis } from "@holdfast/core";
import { ofLock } from "../../client/errors.js";
import { electionLabel } from "../../scripts/election/label.js";
import type { RedisGrant } from "../grants/redis-grant.js";
import type { LockKeys } from "../kinds/kind.js";
import { boundCall } from "../requests/calls.js";
import type { Requests } from "../requests/requests.js";

/** How long labels stay after the last one was set. A term in which no label is set for longer is shown without its label. */
const labelsTtlMs: Millis = 30 * 24 * 60 * 60 * 1_000;
/** How long setting a label is retried after a passing refusal. Its leader gets the grant only afterwards. */
const labelWaitMs: Millis = 1_000;

/** Sets the label of an owner that leads or stands for election. Resolves with `false` when it does neither. */
export async function setLabel(
  requests: Requests,
  { lookKeys, changes }: LockKeys,
  { owner, leaseMs, label }: { readonly owner: string; readonly leaseMs: Millis; readonly label: string },
): Promise<boolean> {
  const [lock, , waiters, alive, labels] = lookKeys as [string, string, string, string, string];
  const given = { owner, leaseMs, label, ttlMs: labelsTtlMs, changes };
  const call = boundCall(electionLabel, [lock, waiters, alive, labels], given);
  const { reply } = await requests.runUntilAnswered(call, requests.runtime.nowMs() + labelWaitMs);
  if (reply === null) {
    throw new BackendError(`Redis has not confirmed the label within ${labelWaitMs} ms`, {
      backend: "redis",
    });
  }
  return reply.status === "labelled";
}

/** Changes the label of a leader. Rejects with `LockLostError` when it does not lead any more. */
export async function announce(
  requests: Requests,
  names: LockKeys,
  { spec: { lock, owner, leaseMs }, token }: RedisGrant,
  label: string,
): Promise<void> {
  if (await setLabel(requests, names, { owner, leaseMs, label })) return;
  throw new LockLostError(`the leadership of "${lock.name}" was gone when a label was announced`, {
    reason: "lease-missing",
    token,
    ...ofLock(lock.name),
  });
}
