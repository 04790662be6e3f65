import type { RedissonPublish } from "../../layout/channels.js";
import { clock } from "../lua/clock.js";
import { fairQueue } from "../lua/fair.js";
import { mutexState } from "../lua/mutex-state.js";
import { publish } from "../lua/publish.js";
import { places } from "../lua/waiters.js";
import { type CancelAnswer, readCancel } from "../mutex/cancel.js";
import { type BatchScript, eachReader } from "../script.js";

export interface FairCancelArgs {
  readonly waitMs: number;
  readonly publish: RedissonPublish;
}

export interface FairCancelEntry {
  readonly owner: string;
  /** See `FairEndArgs.channel`. */
  readonly channel: string;
}

/**
 * The last request of owners of one client: takes them out of Redisson's queue, and ends their holds as a release would.
 *
 * Keys of each entry: lock, token, queue, deadlines, alive. Arguments: the fleet's wait ms, how to publish; then for each entry owner and
 * Redisson's channel. Answer for each entry: freed / removed / none, with the publish error; server time in each.
 *
 * As Redisson's giving up: a whole wait is taken off the deadlines of all entries behind. Unlike Redisson's: if a head leaves
 * while the lock is free, the next head gets a message. All owners that leave one queue are taken out in one pass over it, since
 * a provider that closes may have thousands of them.
 */
export const fairCancel: BatchScript<FairCancelArgs, FairCancelEntry, CancelAnswer> = {
  name: "fair-cancel",
  keyCount: 5,
  lua: `${clock}${publish}${mutexState}${places}${fairQueue}
local waitMs, how = tonumber(ARGV[1]), ARGV[2]
local leaving, order, answers = {}, {}, {}
for i = 0, #KEYS / 5 - 1 do
  local lock, owner = KEYS[5 * i + 1], ARGV[2 * i + 3]
  local these = leaving[lock]
  if not these then
    these = {channel = ARGV[2 * i + 4], owners = {}, k = {lock = lock, queue = KEYS[5 * i + 3],
      deadlines = KEYS[5 * i + 4], alive = KEYS[5 * i + 5]}}
    leaving[lock] = these
    order[#order + 1] = these
  end
  these.owners[#these.owners + 1] = {owner = owner, place = i + 1}
end
for _, these in ipairs(order) do
  local k, gone, removed = these.k, {}, {}
  local state, holder = look(k.lock)
  local first = redis.call('LINDEX', k.queue, 0)
  for _, each in ipairs(these.owners) do
    local queued = isQueued(k.queue, each.owner, k.deadlines, each.owner)
    if queued or redis.call('ZSCORE', k.deadlines, each.owner) or redis.call('ZSCORE', k.alive, each.owner) then
      gone[each.owner] = 1
      removed[each.owner] = true
    end
  end
  local head = sweep(k, waitMs, gone)
  for _, each in ipairs(these.owners) do
    if state == 'held' and holder == each.owner then
      redis.call('DEL', k.lock)
      poke(how, these.channel, head)
      answers[each.place] = {'freed', nowUs, mute}
    else
      answers[each.place] = {removed[each.owner] and 'removed' or 'none', nowUs, mute}
    end
  end
  if state == 'free' and first and removed[first] then poke(how, these.channel, head) end
end
return answers
`,
  args: ({ waitMs, publish }, entries) => [
    waitMs,
    publish,
    ...entries.flatMap(({ owner, channel }) => [owner, channel]),
  ],
  parse: eachReader("fair-cancel", (raw) => readCancel("fair-cancel", raw)),
};
