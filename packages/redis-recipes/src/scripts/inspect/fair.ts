import { clock } from "../lua/clock.js";
import { mutexState } from "../lua/mutex-state.js";
import type { CallScript } from "../script.js";
import type { InspectArgs } from "./mutex.js";
import { type LockPicture, looking, readPicture } from "./picture.js";

/**
 * Looks at a fair lock and Redisson's queue, Java's waiters and ours; changes nothing.
 *
 * Keys: lock, token, queue, deadlines, alive. Arguments: longest list of waiters. Answer: as `mutex-inspect`; waiters also have a
 * deadline, and for our waiters the answer says how long they count as alive.
 */
export const fairInspect: CallScript<InspectArgs, LockPicture> = {
  name: "fair-inspect",
  keyCount: 5,
  lua: `${clock}${mutexState}${looking}
local state, holder = look(KEYS[1])
local pttl = redis.call('PTTL', KEYS[1])
local holders, waiting = {}, {}
if state == 'held' then
  holders[1] = {holder, 'exclusive', tonumber(redis.call('HGET', KEYS[1], holder)), pttl, ''}
end
if tonumber(ARGV[1]) > 0 then
  for i, owner in ipairs(redis.call('LRANGE', KEYS[3], 0, ARGV[1] - 1)) do
    waiting[i] = {owner, -1, leftOf(KEYS[5], owner), leftOf(KEYS[4], owner), ''}
  end
end
return {nowUs, state == 'conflict' and holder or state, pttl, tokenText(KEYS[2]), holders, waiting, redis.call('LLEN', KEYS[3])}
`,
  args: (given) => [given.maxPending],
  parse: (raw) => readPicture("fair-inspect", raw),
};
