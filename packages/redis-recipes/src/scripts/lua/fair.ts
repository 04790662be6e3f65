import { lists } from "./lists.js";
import { keepers } from "./publish.js";
import { farPlace, mostAlive } from "./waiters.js";

/**
 * Redisson's fair queue with its arithmetic of deadlines, and beside it how long our own entries count as alive. `waitMs` is the
 * fleet's wait: each deadline is this much behind the deadline of the entry in front.
 *
 * `giveUp(k, gone, waitMs, queue, deadlines)` takes owners out of the queue. `gone` says for each owner how many waits are taken
 * off the deadlines of all entries behind it: 1 for an owner that gives up, as with Redisson, and 0 for one whose deadline is
 * over. `queue` and `deadlines` are what the caller has read of the keys, if anything. However many owners go, the queue is
 * walked once and each deadline is written once, which costs about two microseconds for each waiter in it. One pass for each
 * owner would stop the server for seconds when thousands of waiters die together.
 *
 * `sweep(k, waitMs, leaving, aliveMs)` drops the entries at the head whose deadline is over, as Redisson does, and our entries
 * whose process is gone. The latter leave as if they had given up, so Java sees nothing unusual. Owners in `leaving` give up in
 * the same pass. Our live entries keep their places, whatever their deadlines. With `aliveMs`, the first of them counts as alive
 * until `mostAlive` and no longer.
 *
 * `raise(k, owner, waitMs, pttl)` raises the deadline of a live waiter where it is too low. It never lowers a deadline, since
 * each grant in Java takes a whole wait off every other deadline.
 *
 * Needs `places`.
 */
export const fairQueue: string = `${lists}
local function scoresOf(key)
  local scores, all = {}, redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
  for i = 1, #all, 2 do scores[all[i]] = all[i + 1] end
  return scores
end
local function heardOf(k)
  local heard = {}
  for _, each in ipairs(redis.call('ZRANGEBYSCORE', k.alive, nowMs + 1, '+inf')) do heard[each] = true end
  return heard
end
local function giveUp(k, gone, waitMs, queue, deadlines)
  queue = queue or redis.call('LRANGE', k.queue, 0, -1)
  deadlines = deadlines or scoresOf(k.deadlines)
  local lowered, count, waits, owners = {}, 0, 0, {}
  for _, each in ipairs(queue) do
    if gone[each] then
      count = count + 1
      waits = waits + gone[each]
    elseif waits > 0 and deadlines[each] then
      local n = #lowered
      lowered[n + 1] = deadlines[each] - waits * waitMs
      lowered[n + 2] = each
    end
  end
  for each in pairs(gone) do owners[#owners + 1] = each end
  dropAll(k.deadlines, owners)
  dropAll(k.alive, owners)
  scoreAll(k.deadlines, lowered)
  without(k.queue, queue, gone, count)
end
local function giveUpUnheard(k, waitMs)
  local queue, heard, gone = redis.call('LRANGE', k.queue, 0, -1), heardOf(k), {}
  for _, each in ipairs(queue) do
    if not heard[each] and channelOf(each) then gone[each] = 1 end
  end
  giveUp(k, gone, waitMs, queue)
end
local function sweep(k, waitMs, leaving, aliveMs)
  local gone = leaving or {}
  for _, each in ipairs(redis.call('ZRANGEBYSCORE', k.alive, '-inf', nowMs)) do gone[each] = 1 end
  if next(gone) then giveUp(k, gone, waitMs) end
  for _ = 1, 64 do
    local head = redis.call('LINDEX', k.queue, 0)
    if not head then return head end
    if channelOf(head) then
      local till = redis.call('ZSCORE', k.alive, head)
      if till then
        local mostMs = ${mostAlive}
        if tonumber(till) > mostMs then redis.call('ZADD', k.alive, mostMs, head) end
        return head
      end
      giveUpUnheard(k, waitMs)
    else
      local deadline = redis.call('ZSCORE', k.deadlines, head)
      if not deadline or tonumber(deadline) > nowMs then return head end
      redis.call('LPOP', k.queue)
      redis.call('ZREM', k.deadlines, head)
    end
  end
  return redis.call('LINDEX', k.queue, 0)
end
local function raise(k, owner, waitMs, pttl)
  local least = nowMs + math.max(0, pttl) + waitMs
  local place = placeOf(k.queue, owner)
  if place == ${farPlace} then
    least = least + place * waitMs
  elseif place > 0 then
    local before = redis.call('ZSCORE', k.deadlines, redis.call('LINDEX', k.queue, place - 1))
    if before then least = tonumber(before) + waitMs end
  end
  local score = redis.call('ZSCORE', k.deadlines, owner)
  if not score or tonumber(score) < least then redis.call('ZADD', k.deadlines, least, owner) end
  return place
end
local function poke(how, channel, head)
  if head then tellRedisson(how, channel .. ':' .. head, '0') end
end
`;

/**
 * `stand(k, ask, head)` of the fair lock; see the `stand` of the mutex. `ask` also has `waitMs`, and `queued`, which is the
 * result of `stay`. `head`: the first entry of the queue after `sweep`. A provider that may keep the plain mutex of the same name
 * gets a message that the lock is wanted, as by `stand` of the mutex. Needs `messages`.
 *
 * `stay(k, owner, aliveMs, whole)`: whether an owner is in the queue; if so, it counts as alive for `aliveMs` from now. `whole`
 * may be omitted, see `isQueued`.
 */
export const fairStand: string = `
local function stay(k, owner, aliveMs, whole)
  local queued = isQueued(k.queue, owner, k.deadlines, owner, whole)
  if queued then redis.call('ZADD', k.alive, nowMs + aliveMs, owner) end
  return queued
end
local function stand(k, ask, head)
  local state, holder = look(k.lock)
  if state == 'conflict' then return {'conflict', nowUs, holder} end
  local last = lastToken(k.token)
  if not last then return {'conflict', nowUs, 'token'} end
  if ask.floor > last then
    last = state == 'free' and ask.floor or ask.floor + 1
    raiseToken(k.token, last, ask.tokenTtlMs)
  end
  if state == 'held' and holder == ask.owner then
    return {'granted', nowUs, string.format('%.0f', last), redis.call('PTTL', k.lock)}
  end
  if state == 'free' and (not head or head == ask.owner) then
    if head then redis.call('LPOP', k.queue) end
    redis.call('ZREM', k.deadlines, ask.owner)
    redis.call('ZREM', k.alive, ask.owner)
    local lowered, all = {}, redis.call('ZRANGE', k.deadlines, 0, -1, 'WITHSCORES')
    for i = 1, #all, 2 do
      lowered[i] = tonumber(all[i + 1]) - ask.waitMs
      lowered[i + 1] = all[i]
    end
    scoreAll(k.deadlines, lowered)
    put(k.lock, ask.owner, ask.grantMs)
    return {'granted', nowUs, nextToken(k.token, last, ask.tokenTtlMs), redis.call('PTTL', k.lock)}
  end
  ${keepers}
  local pttl = redis.call('PTTL', k.lock)
  if not ask.mayWait then
    tellKeeper(k.lock, holder)
    return {'busy', nowUs, pttl, holder, string.format('%.0f', last)}
  end
  local place
  if ask.queued then
    place = raise(k, ask.owner, ask.waitMs, pttl)
  else
    local tail = redis.call('LINDEX', k.queue, -1)
    local deadline = tail and tail ~= ask.owner and redis.call('ZSCORE', k.deadlines, tail)
    local base = deadline and tonumber(deadline) - nowMs or pttl
    redis.call('ZADD', k.deadlines, nowMs + base + ask.waitMs, ask.owner)
    redis.call('RPUSH', k.queue, ask.owner)
    redis.call('ZADD', k.alive, nowMs + ask.aliveMs, ask.owner)
    place = placeOf(k.queue, ask.owner)
  end
  if redis.call('PTTL', k.alive) < 9 * ask.aliveMs then redis.call('PEXPIRE', k.alive, 10 * ask.aliveMs) end
  if place == 0 or not ask.queued then tellKeeper(k.lock, holder) end
  return {'queued', nowUs, pttl, holder, string.format('%.0f', last), place, ask.queued and 0 or 1}
end
`;
