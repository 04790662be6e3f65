import { clock } from "../lua/clock.js";
import { mostLevels, readWriteState } from "../lua/read-write-state.js";
import type { CallScript } from "../script.js";
import { type LockPicture, looking, readPicture } from "./picture.js";

export interface ReadWriteInspectArgs {
  readonly maxPending: number;
  readonly holdPrefix: string;
}

/** At most this many holders are shown, so that no look blocks the server. */
const mostShown = 10_000;
/** At most this many holds of readers are read, and at least the first one of each reader that is shown. */
const mostHolds = 20_000;

/**
 * Looks at a read-write lock, its readers and our waiting writers; changes nothing.
 *
 * Keys: lock, token, waiters, alive, run. Arguments: longest list of waiters, the start of read-hold keys. Answer: as
 * `mutex-inspect`. A reader's PTTL is that of its longest hold, so a reader that died shows -2 while others keep the hash. At
 * most 10,000 readers are shown. The first 100 holds of each one count, until 20,000 holds were read; from there on the first one
 * of each reader does. Waiting readers are not on the wire.
 */
export const readWriteInspect: CallScript<ReadWriteInspectArgs, LockPicture> = {
  name: "read-write-inspect",
  keyCount: 5,
  lua: `${clock}${readWriteState}${looking}
local state, holder = look(KEYS[1])
local pttl = redis.call('PTTL', KEYS[1])
local holders, waiting, holdsLeft = {}, {}, ${mostHolds}
if state == 'held' then
  local fields = redis.call('HGETALL', KEYS[1])
  for i = 1, #fields, 2 do
    if #holders == ${mostShown} then break end
    local count = tonumber(fields[i + 1])
    local writer = string.match(fields[i], '^(.*):write$')
    if writer and count then
      holders[#holders + 1] = {writer, 'exclusive', count, pttl, ''}
    elseif fields[i] ~= 'mode' and count then
      local longest, levels = -2, math.max(0, math.min(count, ${mostLevels}, math.max(1, holdsLeft)))
      holdsLeft = holdsLeft - levels
      for level = 1, levels do
        longest = math.max(longest, redis.call('PTTL', holdOf(ARGV[2], fields[i], level)))
      end
      holders[#holders + 1] = {fields[i], 'shared', count, longest, ''}
    end
  end
  table.sort(holders, function(one, other) return one[1] < other[1] end)
end
if tonumber(ARGV[1]) > 0 then
  for i, entry in ipairs(redis.call('LRANGE', KEYS[3], 0, ARGV[1] - 1)) do
    local owner, leaseMs = string.match(entry, '^(.*) (%d+)$')
    owner = owner or entry
    waiting[i] = {owner, tonumber(leaseMs or '-1'), math.max(0, leftOf(KEYS[4], owner)), -1, ''}
  end
end
return {nowUs, state == 'conflict' and holder or state, pttl, tokenText(KEYS[2]), holders, waiting, redis.call('LLEN', KEYS[3])}
`,
  args: (given) => [given.maxPending, given.holdPrefix],
  parse: (raw) => readPicture("read-write-inspect", raw),
};
