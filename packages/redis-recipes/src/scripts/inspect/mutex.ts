import { clock } from "../lua/clock.js";
import { mutexState } from "../lua/mutex-state.js";
import type { CallScript } from "../script.js";
import { type LockPicture, looking, readPicture } from "./picture.js";

export interface InspectArgs {
  readonly maxPending: number;
}

/**
 * Looks at a mutex, a spin lock or, with its labels, an election; changes nothing.
 *
 * Keys: lock, token, waiters, alive, labels. Arguments: longest list of waiters. Answer: server time, state, PTTL, token, holders (owner, mode, count, PTTL,
 * label), waiters (owner, lease, alive for, deadline, label), how many wait. Waiters of Redisson's plain lock are not on the wire.
 */
export const mutexInspect: CallScript<InspectArgs, LockPicture> = {
  name: "mutex-inspect",
  keyCount: 5,
  lua: `${clock}${mutexState}${looking}
local state, holder = look(KEYS[1])
local pttl = redis.call('PTTL', KEYS[1])
local holders, waiting = {}, {}
if state == 'held' then
  holders[1] = {holder, 'exclusive', tonumber(redis.call('HGET', KEYS[1], holder)), pttl, labelOf(KEYS[5], holder)}
end
if tonumber(ARGV[1]) > 0 then
  for i, entry in ipairs(redis.call('LRANGE', KEYS[3], 0, ARGV[1] - 1)) do
    local owner, leaseMs = string.match(entry, '^(.*) (%d+)$')
    owner = owner or entry
    waiting[i] = {owner, tonumber(leaseMs or '-1'), math.max(0, leftOf(KEYS[4], owner)), -1, labelOf(KEYS[5], owner)}
  end
end
return {nowUs, state == 'conflict' and holder or state, pttl, tokenText(KEYS[2]), holders, waiting, redis.call('LLEN', KEYS[3])}
`,
  args: (given) => [given.maxPending],
  parse: (raw) => readPicture("mutex-inspect", raw),
};
