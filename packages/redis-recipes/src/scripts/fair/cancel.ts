import { clock } from "../lua/clock.js";
import { fairQueue } from "../lua/fair.js";
import { mutexState } from "../lua/mutex-state.js";
import { publish } from "../lua/publish.js";
import { type CancelAnswer, readCancel } from "../mutex/cancel.js";
import type { CallScript } from "../script.js";
import { type FairEndArgs, fairEndArgs } from "./release.js";

/**
 * The last request of an owner: takes it out of Redisson's queue, and ends its hold as a release would.
 *
 * Keys: lock, token, queue, deadlines, alive. Arguments: as `fair-release`. Answer: freed (head, publish error) / removed / none, with the publish
 * error; server time in each.
 *
 * As Redisson's giving up: the whole wait is taken off the deadlines of all behind it. Unlike it, a head that leaves while the lock
 * is free pokes the next one.
 */
export const fairCancel: CallScript<FairEndArgs, CancelAnswer> = {
  name: "fair-cancel",
  keyCount: 5,
  lua: `${clock}${publish}${mutexState}${fairQueue}
local k = {lock = KEYS[1], token = KEYS[2], queue = KEYS[3], deadlines = KEYS[4], alive = KEYS[5]}
local state, holder = look(k.lock)
local first = redis.call('LINDEX', k.queue, 0) == ARGV[1]
local removed = giveUp(k, ARGV[1], tonumber(ARGV[2]))
local head = sweep(k, tonumber(ARGV[2]))
if state == 'held' and holder == ARGV[1] then
  redis.call('DEL', k.lock)
  poke(ARGV[3], ARGV[4], head)
  return {'freed', nowUs, head or '', mute}
end
if first and state == 'free' then poke(ARGV[3], ARGV[4], head) end
return {removed and 'removed' or 'none', nowUs, mute}
`,
  args: fairEndArgs,
  parse: (raw) => readCancel("fair-cancel", raw),
};
