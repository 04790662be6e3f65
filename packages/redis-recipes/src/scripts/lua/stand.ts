/** `leave(k, owner, leaseMs)`: out of our queue; whether it was in it. */
export const leaveQueue = `
local function leave(k, owner, leaseMs)
  local removed = redis.call('LREM', k.waiters, 1, entryOf(owner, leaseMs))
  return redis.call('ZREM', k.alive, owner) + removed > 0
end
`;

/**
 * `stand(k, ask)`: what acquire and heartbeat do for one owner, over `look` and `put` of the kind of lock. `ask` has owner,
 * leaseMs (wanted), grantMs (given if granted now), mayWait, aliveMs, tokenTtlMs, floor, changes.
 *
 * Granted before: says so and extends nothing. Told a lease that began earlier as if it began now, two clients would
 * believe that they hold. Free, and no live waiter in front: written as holder. Else queued once.
 *
 * `floor` is the highest token that the client has seen. After a failover that lost writes the key is raised to it, and
 * past it while somebody holds: that holder's token, read again, must not equal one which another client had.
 */
export const stand: string = `${leaveQueue}
local function stand(k, ask)
  local state, holder = look(k.lock, ask.owner)
  if state == 'conflict' then return {'conflict', nowUs, holder} end
  local last = lastToken(k.token)
  if not last then return {'conflict', nowUs, 'token'} end
  local me = entryOf(ask.owner, ask.leaseMs)
  local queued = redis.call('LPOS', k.waiters, me)
  if queued then redis.call('ZADD', k.alive, nowMs + ask.aliveMs, ask.owner) end
  if ask.floor > last then
    last = state == 'free' and ask.floor or ask.floor + 1
    raiseToken(k.token, last, ask.tokenTtlMs)
  end
  if state == 'held' and holder == ask.owner then
    return {'granted', nowUs, string.format('%.0f', last), redis.call('PTTL', k.lock)}
  end
  if state == 'free' then
    local head = liveHead(k)
    if not head or head == ask.owner then
      if queued then leave(k, ask.owner, ask.leaseMs) end
      put(k.lock, ask.owner, ask.grantMs)
      local text = nextToken(k.token, last, ask.tokenTtlMs)
      if ask.changes ~= '' then say('PUBLISH', ask.changes, '1') end
      return {'granted', nowUs, text, redis.call('PTTL', k.lock)}
    end
  end
  local place = {redis.call('PTTL', k.lock), holder, string.format('%.0f', last)}
  if not ask.mayWait then return {'busy', nowUs, place[1], place[2], place[3]} end
  if not queued then
    redis.call('RPUSH', k.waiters, me)
    redis.call('ZADD', k.alive, nowMs + ask.aliveMs, ask.owner)
  end
  touch(k, ask.aliveMs)
  local position = redis.call('LPOS', k.waiters, me)
  return {'queued', nowUs, place[1], place[2], place[3], position, queued and 0 or 1}
end
`;
