import { InvalidArgumentError } from "@holdfast/core";
import { show } from "@holdfast/core/internal";
import { ofLock } from "../../client/errors.js";
import { redissonChannels } from "../../layout/channels.js";
import { permitKeyList, permitKeys } from "../../layout/keys.js";
import { permitSet } from "../../scripts/permit/set.js";
import { foundElse } from "../requests/foreign-key.js";
import type { RetryingRequests } from "../requests/retrying-requests.js";

/**
 * Sets how many permits there are in all, including held ones. Resolves with `false` where the limit was that already. Safe to
 * repeat.
 */
export async function setPermitLimit(
  runs: RetryingRequests,
  name: string,
  key: string,
  change: { readonly limit: number; readonly onlyIfUnset: boolean },
): Promise<boolean> {
  const channel = redissonChannels.semaphore(key);
  const keys = permitKeyList(permitKeys(key));
  const args = () => {
    const notAfterMs = runs.requests.notAfterMs(key);
    return permitSet.args({ ...change, notAfterMs, publish: runs.line.publishCommand, channel });
  };
  // With `onlyIfUnset` the answer has to show whether this very request has set the limit, so the request is not sent twice.
  const reply = await runs.run(permitSet, { keys, args, repeatable: !change.onlyIfUnset, patient: false });
  if (reply.status === "conflict") throw foundElse(name, key, reply.found, "permits");
  return reply.changed;
}

/** Checks a limit by the bounds of every semaphore, which are those of Java's `int`. */
export function checkLimit(method: string, name: string, limit: unknown): asserts limit is number {
  if (Number.isInteger(limit) && (limit as number) >= 0 && (limit as number) <= 2 ** 31 - 1) return;
  throw new InvalidArgumentError(
    `${method}: limit must be a whole number from 0 to ${2 ** 31 - 1}; got ${show(limit)}`,
    ofLock(name),
  );
}
