/**
 * Redisson's fair queue and its arithmetic of deadlines, with the liveness of our own entries beside. `opts` has waitMs, the fleet's
 * wait, by which every deadline is behind the one in front of it.
 *
 * `sweep` drops heads whose deadline is over, as Redisson does, and entries of ours whose process is gone, as if they had given
 * up: Java sees nothing but that. Whoever asks is alive and keeps its place, whatever its deadline. `raise` keeps the deadline of a live waiter ahead; it never sets one lower, since each grant
 * in Java takes a whole wait off every other deadline.
 */
export const fairQueue = `
local function giveUp(k, owner, waitMs)
  local behind = false
  for _, each in ipairs(redis.call('LRANGE', k.queue, 0, -1)) do
    if each == owner then
      behind = true
    elseif behind and redis.call('ZSCORE', k.deadlines, each) then
      redis.call('ZINCRBY', k.deadlines, -waitMs, each)
    end
  end
  local removed = redis.call('ZREM', k.deadlines, owner) + redis.call('LREM', k.queue, 0, owner)
  return removed + redis.call('ZREM', k.alive, owner) > 0
end
local function sweep(k, waitMs, asking)
  for _, owner in ipairs(redis.call('ZRANGEBYSCORE', k.alive, '-inf', nowMs, 'LIMIT', 0, 64)) do
    giveUp(k, owner, waitMs)
  end
  for _ = 1, 64 do
    local head = redis.call('LINDEX', k.queue, 0)
    if not head or head == asking then return head end
    local deadline = redis.call('ZSCORE', k.deadlines, head)
    if deadline and tonumber(deadline) <= nowMs then
      redis.call('LPOP', k.queue)
      redis.call('ZREM', k.deadlines, head)
      redis.call('ZREM', k.alive, head)
    elseif channelOf(head) and not redis.call('ZSCORE', k.alive, head) then
      giveUp(k, head, waitMs)
    else
      return head
    end
  end
  return redis.call('LINDEX', k.queue, 0)
end
local function raise(k, owner, position, waitMs)
  local least
  local before = position > 0 and redis.call('ZSCORE', k.deadlines, redis.call('LINDEX', k.queue, position - 1))
  if before then
    least = tonumber(before) + waitMs
  else
    least = nowMs + math.max(0, redis.call('PTTL', k.lock)) + waitMs
  end
  local score = redis.call('ZSCORE', k.deadlines, owner)
  if not score or tonumber(score) < least then redis.call('ZADD', k.deadlines, least, owner) end
end
local function poke(how, channel, head)
  if head then tellRedisson(how, channel .. ':' .. head, '0') end
end
`;

/** `stand(k, ask)` of the fair lock: see the one of the mutex; `ask` has waitMs besides. */
export const fairStand = `
local function stand(k, ask)
  local state, holder = look(k.lock)
  if state == 'conflict' then return {'conflict', nowUs, holder} end
  local last = lastToken(k.token)
  if not last then return {'conflict', nowUs, 'token'} end
  local position = redis.call('LPOS', k.queue, ask.owner)
  if position then
    redis.call('ZADD', k.alive, nowMs + ask.aliveMs, ask.owner)
  end
  local head = sweep(k, ask.waitMs, ask.owner)
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
    for _, each in ipairs(redis.call('ZRANGE', k.deadlines, 0, -1)) do
      redis.call('ZINCRBY', k.deadlines, -ask.waitMs, each)
    end
    put(k.lock, ask.owner, ask.grantMs)
    return {'granted', nowUs, nextToken(k.token, last, ask.tokenTtlMs), redis.call('PTTL', k.lock)}
  end
  local pttl = redis.call('PTTL', k.lock)
  if not ask.mayWait then return {'busy', nowUs, pttl, holder, string.format('%.0f', last)} end
  if position then
    raise(k, ask.owner, redis.call('LPOS', k.queue, ask.owner), ask.waitMs)
  else
    local tail = redis.call('LINDEX', k.queue, -1)
    local deadline = tail and tail ~= ask.owner and redis.call('ZSCORE', k.deadlines, tail)
    local base = deadline and tonumber(deadline) - nowMs or pttl
    redis.call('ZADD', k.deadlines, nowMs + base + ask.waitMs, ask.owner)
    redis.call('RPUSH', k.queue, ask.owner)
    redis.call('ZADD', k.alive, nowMs + ask.aliveMs, ask.owner)
  end
  redis.call('PEXPIRE', k.alive, 10 * ask.aliveMs)
  return {'queued', nowUs, pttl, holder, string.format('%.0f', last), redis.call('LPOS', k.queue, ask.owner), position and 0 or 1}
end
`;
