import { clock } from "../lua/clock.js";
import { mutexState } from "../lua/mutex-state.js";
import { passOn } from "../lua/pass-on.js";
import { messages, nudge } from "../lua/publish.js";
import { leaveQueue } from "../lua/stand.js";
import { entryOf, firstWaiter } from "../lua/waiters.js";
import { type CallScript, Reply } from "../script.js";
import { type Passed, readHanded, readPassed } from "./answers.js";
import { type PassArgs, passArgs, passOptions, runIdAt } from "./release.js";

export interface CancelArgs extends PassArgs {
  readonly owner: string;
  /** The lease with which the owner was queued. */
  readonly leaseMs: number;
}

/** `removed`: the owner only waited. `none`: nothing of the owner was there. */
export type CancelAnswer =
  | Passed
  | { readonly status: "removed" | "none"; readonly serverMs: number; readonly publishError: string };

export function readCancel(script: string, raw: unknown): CancelAnswer {
  const handed = readHanded(raw);
  if (handed !== null) return handed;
  const reply = new Reply(script, raw);
  const status = reply.text();
  const serverMs = reply.serverMs();
  if (status === "handed" || status === "freed") return readPassed(reply, status, serverMs);
  if (status === "removed" || status === "none") {
    return reply.end({ status, serverMs, publishError: reply.text() });
  }
  throw reply.unknownStatus(status);
}

/**
 * The last request of an owner, whatever its earlier ones did: takes it out of the queue, and ends its hold as a release would.
 *
 * Keys: lock, token, waiters, alive, run. Arguments: as `mutex-release`, then the lease that it was queued with. Answer: the
 * server time alone if the lock was handed over, else handed / freed / removed / none, with the publish error; server time in
 * each.
 *
 * If the lock is free or held by Java, and the first waiter of our queue leaves, the next waiter gets a nudge. Otherwise that
 * waiter would notice late that it now has to ask, or to subscribe. Redisson's plain mutex has no queue, so giving up writes
 * nothing there.
 */
export const mutexCancel: CallScript<CancelArgs, CancelAnswer> = {
  name: "mutex-cancel",
  keyCount: 5,
  runIdAt,
  lua: `${clock}${messages}${nudge}${entryOf}${firstWaiter}${mutexState}${leaveQueue}${passOn}${passOptions}
local state, holder = look(k.lock)
local first = redis.call('LINDEX', k.waiters, 0) == entryOf(ARGV[1], tonumber(ARGV[10]))
local removed = leave(k, ARGV[1], tonumber(ARGV[10]))
if state == 'held' and holder == ARGV[1] then
  redis.call('DEL', k.lock)
  return passOn(k, opts)
end
local unheard = state == 'free' or (state == 'held' and not channelOf(holder))
if first and unheard then nudge(k, (liveHead(k))) end
return {removed and 'removed' or 'none', nowUs, mute}
`,
  args: (given) => [given.owner, ...passArgs(given), given.leaseMs],
  parse: (raw) => readCancel("mutex-cancel", raw),
};
