import { clock, fairQueue, mutexState, places, publish, type Script } from "@holdfast/redis-recipes/internal";

/**
 * Puts a condition in front of a script whose first keys are a lock and its token. The version of the lock, as `versionOf`
 * computes it, must equal the last argument; otherwise nothing is done and the answer is `changed`. The argument before it
 * is `dry` for a run that changes nothing and answers `same`. Both arguments are removed before the script sees its own.
 */
export function guarded(script: Pick<Script<unknown>, "lua">): string {
  return `${unchanged("fields", 2)}${dry("'same'")}${script.lua}`;
}

/**
 * The same for a script whose keys are those of permits. `entry`: the index of the argument with a permit's id, as hex. A
 * dry run then answers `gone` when no permit has that id.
 */
export function guardedPermits(script: Pick<Script<unknown>, "lua">, entry: number | null): string {
  const found =
    entry === null
      ? "'same'"
      : `redis.call('ZSCORE', KEYS[2], (string.gsub(ARGV[${entry}], '..', function(hex) return string.char(tonumber(hex, 16)) end))) and 'same' or 'gone'`;
  return `${unchanged("permits", 3)}${dry(found)}${script.lua}`;
}

/**
 * Lua that computes from the keys what `versionOf` computes: the SHA-1 of the sorted fields of a hash, or of the numbers of
 * free and taken permits, followed by the token.
 */
function unchanged(what: "fields" | "permits", token: number): string {
  const read =
    what === "fields"
      ? `if redis.call('TYPE', KEYS[1]).ok == 'hash' then seen = redis.call('HKEYS', KEYS[1]) end
  table.sort(seen)`
      : `local out = redis.call('ZCARD', KEYS[2])
  local free = redis.call('GET', KEYS[1])
  if free or out > 0 then seen = {(free or '0') .. '/' .. out} end`;
  return `
local function versionOf()
  local seen = {}
  ${read}
  local token = redis.pcall('GET', KEYS[${token}])
  return redis.sha1hex(table.concat(seen, '\\n') .. '\\n' .. (type(token) == 'string' and token or ''))
end
if table.remove(ARGV) ~= versionOf() then return {'changed'} end
`;
}

function dry(answer: string): string {
  return `if table.remove(ARGV) == 'dry' then return {${answer}} end
`;
}

/**
 * Removes waiters from the queues beside a lock: one waiter, or all dead ones. A waiter of ours is dead when its last
 * heartbeat is too old. A waiter in Redisson's queue is dead when its deadline is over or missing.
 *
 * Keys: lock, waiters, alive, queue, deadlines, token. Arguments: `one` or `dead`, the owner (empty for all dead), the
 * fleet's wait ms, how to publish, the lock's Redisson channel, `dry` or `act`, the version. Answer: `changed` when the
 * version is different now; else server time, owners that were or would be removed, whether the lock is held, the first
 * owner now, publish error. When the lock is free and has another first waiter than before, that waiter gets a message.
 */
export const takeOut: string = `${unchanged("fields", 6)}${clock}${publish}${mutexState}${places}${fairQueue}
local k = {lock = KEYS[1], waiters = KEYS[2], alive = KEYS[3], queue = KEYS[4], deadlines = KEYS[5]}
local what, wanted, waitMs, dry = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[6] == 'dry'
local out = {}
local function chosen(owner, dead)
  if what == 'one' then return owner == wanted end
  return dead
end
local heard = heardOf(k)
local headBefore, queue, gone = redis.call('LINDEX', k.queue, 0), redis.call('LRANGE', k.queue, 0, -1), {}
local deadlines = scoresOf(k.deadlines)
for _, owner in ipairs(queue) do
  local over = tonumber(deadlines[owner] or 0) <= nowMs
  if chosen(owner, not heard[owner] and (over or channelOf(owner))) then
    out[#out + 1] = owner
    gone[owner] = over and 0 or 1
  end
end
local firstBefore, entries, dropped, count = redis.call('LINDEX', k.waiters, 0), redis.call('LRANGE', k.waiters, 0, -1), {}, 0
local owners = {}
for _, entry in ipairs(entries) do
  local owner = string.match(entry, '^(.*) %d+$') or entry
  if chosen(owner, not heard[owner]) then
    out[#out + 1] = owner
    dropped[entry] = true
    owners[#owners + 1] = owner
    count = count + 1
  end
end
if not dry then
  if next(gone) then giveUp(k, gone, waitMs, queue, deadlines) end
  without(k.waiters, entries, dropped, count)
  dropAll(k.alive, owners)
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
