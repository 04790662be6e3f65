import { clock } from "../scripts/lua/clock.js";
import { fairQueue } from "../scripts/lua/fair.js";
import { mutexState } from "../scripts/lua/mutex-state.js";
import { publish } from "../scripts/lua/publish.js";
import type { CallScript } from "../scripts/script.js";

/**
 * Puts a condition in front of a script whose first keys are a lock and its token: the sorted fields of the lock's hash and the
 * token, as SHA-1, must be what the last argument says, as `versionOf` computes it; else nothing is done and the answer is `changed`. The
 * argument before it is `dry` for a run that changes nothing and answers `same`. The script's own arguments go in front, and it
 * must not count them.
 */
export function guarded<A, R>(script: CallScript<A, R>): string {
  return `${guard}${script.lua}`;
}

const guard = `
local function versionOf()
  local fields = {}
  if redis.call('TYPE', KEYS[1]).ok == 'hash' then fields = redis.call('HKEYS', KEYS[1]) end
  table.sort(fields)
  local token = redis.pcall('GET', KEYS[2])
  return redis.sha1hex(table.concat(fields, '\\n') .. '\\n' .. (type(token) == 'string' and token or ''))
end
if versionOf() ~= ARGV[#ARGV] then return {'changed'} end
if ARGV[#ARGV - 1] == 'dry' then return {'same'} end
`;

/**
 * Takes waiters out of the queues beside a lock: one, or all that are dead. Dead is one of ours that has not been heard for its time, and
 * one in Redisson's queue whose deadline is over or missing.
 *
 * Keys: lock, waiters, alive, queue, deadlines. Arguments: `one` or `dead`, the owner (empty for all dead), the fleet's wait ms, how to
 * publish, the lock's channel of Redisson's, `dry` or `act`. Answer: server time, owners that were or would be taken out, whether the
 * lock is held, who is first now, publish error. Where the lock is free and the first is another one than before, that one is told.
 */
export const takeOut: string = `${clock}${publish}${mutexState}${fairQueue}
local k = {lock = KEYS[1], waiters = KEYS[2], alive = KEYS[3], queue = KEYS[4], deadlines = KEYS[5]}
local what, wanted, waitMs, dry = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[6] == 'dry'
local out = {}
local function chosen(owner, dead)
  if wanted ~= '' and owner ~= wanted then return false end
  return what == 'one' or dead
end
local function heard(owner)
  local score = redis.call('ZSCORE', k.alive, owner)
  return score and tonumber(score) > nowMs
end
local headBefore = redis.call('LINDEX', k.queue, 0)
for _, owner in ipairs(redis.call('LRANGE', k.queue, 0, -1)) do
  local deadline = redis.call('ZSCORE', k.deadlines, owner)
  local over = not deadline or tonumber(deadline) <= nowMs
  local silent = channelOf(owner) and not heard(owner)
  if chosen(owner, over or silent) then
    out[#out + 1] = owner
    if not dry then
      if over then
        redis.call('LREM', k.queue, 0, owner)
        redis.call('ZREM', k.deadlines, owner)
        redis.call('ZREM', k.alive, owner)
      else
        giveUp(k, owner, waitMs)
      end
    end
  end
end
local firstBefore = redis.call('LINDEX', k.waiters, 0)
for _, entry in ipairs(redis.call('LRANGE', k.waiters, 0, -1)) do
  local owner = string.match(entry, '^(.*) %d+$') or entry
  if chosen(owner, not heard(owner)) then
    out[#out + 1] = owner
    if not dry then
      redis.call('LREM', k.waiters, 0, entry)
      redis.call('ZREM', k.alive, owner)
    end
  end
end
local held = redis.call('EXISTS', k.lock)
local head = redis.call('LINDEX', k.queue, 0)
local first = redis.call('LINDEX', k.waiters, 0)
if held == 0 and not dry then
  if head and head ~= headBefore then
    poke(ARGV[4], ARGV[5], head)
    if channelOf(head) then tellOwner(head, {type = 'nudge', key = k.lock, owner = head}) end
  end
  if first and first ~= firstBefore then
    local owner = string.match(first, '^(.*) %d+$') or first
    tellOwner(owner, {type = 'nudge', key = k.lock, owner = owner})
  end
end
return {nowUs, out, held, head or first or '', mute}
`;
