import { clock } from "../lua/clock.js";
import { passOn } from "../lua/pass-on.js";
import { nudge, publish } from "../lua/publish.js";
import { endWrite, readWriteState } from "../lua/read-write-state.js";
import { leaveQueue } from "../lua/stand.js";
import { entryOf, firstWaiter } from "../lua/waiters.js";
import { readHanded } from "../mutex/answers.js";
import type { CancelArgs } from "../mutex/cancel.js";
import { passOptions, runIdAt } from "../mutex/release.js";
import { type CallScript, Reply } from "../script.js";
import { readEnded, type TurnArgs, type WriteReleaseAnswer, writeEndArgs } from "./write-release.js";

export interface WriteCancelArgs extends CancelArgs, TurnArgs {}

export type WriteCancelAnswer =
  | Exclude<WriteReleaseAnswer, { status: "gone" }>
  | { readonly status: "removed" | "none"; readonly serverMs: number; readonly publishError: string };

function readCancelled(script: string, raw: unknown): WriteCancelAnswer {
  const handed = readHanded(raw);
  if (handed !== null) return handed;
  const reply = new Reply(script, raw);
  const status = reply.text();
  if (status === "removed" || status === "none") {
    return reply.end({ status, serverMs: reply.serverMs(), publishError: reply.text() });
  }
  const ended = readEnded(script, raw);
  if (ended.status === "gone") throw reply.unknownStatus(status);
  return ended;
}

/**
 * The last request of a writer: takes it out of the queue, and ends its hold as a release would.
 *
 * Keys: lock, token, waiters, alive, run. Arguments: as `write-release`, then the lease that it was queued with. Answer: the
 * server time alone if the lock was handed over, else handed / freed / downgraded / removed / none; server time in each.
 *
 * If our last waiting writer leaves while the lock is not written, `1` is published, since that writer had kept our readers out.
 */
export const writeCancel: CallScript<WriteCancelArgs, WriteCancelAnswer> = {
  name: "write-cancel",
  keyCount: 5,
  runIdAt,
  lua: `${clock}${publish}${nudge}${entryOf}${firstWaiter}${readWriteState}${leaveQueue}${passOn}${endWrite}${passOptions}
opts.turnMs = tonumber(ARGV[10])
local state, holder, mode = look(k.lock, ARGV[1])
local first = redis.call('LINDEX', k.waiters, 0) == entryOf(ARGV[1], tonumber(ARGV[11]))
local removed = leave(k, ARGV[1], tonumber(ARGV[11]))
if state == 'held' and mode == 'write' and holder == ARGV[1] then
  redis.call('HDEL', k.lock, ARGV[1] .. ':write')
  return endWrite(k, opts)
end
local unwritten = state == 'free' or mode == 'read'
if first and (unwritten or (mode == 'write' and not channelOf(holder))) then
  local head = liveHead(k)
  if head then
    nudge(k, head)
  elseif unwritten then
    tellRedisson(opts.how, opts.channel, '1')
  end
end
return {removed and 'removed' or 'none', nowUs, mute}
`,
  args: (given) => [given.owner, ...writeEndArgs(given), given.leaseMs],
  parse: (raw) => readCancelled("write-cancel", raw),
};
