import { InvalidArgumentError } from "@holdfast/core";
import { show } from "@holdfast/core/internal";
import { ofLock } from "../../client/errors.js";
import { redissonChannels } from "../../layout/channels.js";
import { permitKeyList, permitKeys } from "../../layout/keys.js";
import type { Late } from "../../scripts/mutex/answers.js";
import { type PermitSetAnswer, permitSet } from "../../scripts/permit/set.js";
import { foundElse } from "../requests/foreign-key.js";
import type { RetryingRequests } from "../requests/retrying-requests.js";

/**
 * Sets how many permits there are in all, including held ones. Resolves with `false` where the limit was that already.
 *
 * A request whose answer was lost is not sent again, because another client may have set another limit since, and the repeat would
 * undo that. Without `onlyIfUnset`, whose answer has to show whether this very request has set the limit, the request counts as
 * done if the limit is the wanted one.
 */
export async function setPermitLimit(
  runs: RetryingRequests,
  name: string,
  key: string,
  { limit, onlyIfUnset }: { readonly limit: number; readonly onlyIfUnset: boolean },
): Promise<boolean> {
  const channel = redissonChannels.semaphore(key);
  const keys = permitKeyList(permitKeys(key));
  const argsOf = (wanted: number | null) => () => {
    const notAfterMs = runs.requests.notAfterMs(key);
    const publish = runs.line.publishCommand;
    return permitSet.args({ limit: wanted, onlyIfUnset, notAfterMs, publish, channel });
  };
  const isDone = (found: Exclude<PermitSetAnswer, Late>): boolean =>
    found.status === "counted" && found.free + found.held === limit;
  const call = { keys, args: argsOf(limit), repeatable: false, patient: false };
  const look = { args: argsOf(null), isDone };
  const reply = await runs.run(permitSet, onlyIfUnset ? call : { ...call, look });
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
