/** Places in a queue are counted up to this one. A waiter further back is only known to be at this place or behind it. */
export const farPlace = 100;

/**
 * `isQueued(list, entry, scores, owner, whole)`: whether an owner is in a queue that has a list for the order and a sorted set
 * beside it. Our scripts and Redisson's always write both at once. So the set, which finds a member without a search, answers for
 * the list. The list is searched only where the two differ in size, as after the loss of one key. A call that asks for many
 * owners of one queue compares the sizes once and passes the result as `whole`.
 */
export const isQueued = `
local function isQueued(list, entry, scores, owner, whole)
  if whole == nil then
    local length = redis.call('LLEN', list)
    if length == 0 then return false end
    whole = length == redis.call('ZCARD', scores)
  end
  if whole then return redis.call('ZSCORE', scores, owner) ~= false end
  return redis.call('LPOS', list, entry) ~= false
end
`;

/** `placeOf(list, entry)`: the place of an entry. It searches only the front of the list. */
export const placeOf: string = `
local function placeOf(list, entry)
  return redis.call('LPOS', list, entry, 'MAXLEN', ${farPlace}) or ${farPlace}
end
`;

/** `isQueued`, `placeOf`, and `isWhole`, which compares the sizes for `isQueued`. */
export const places: string = `${isQueued}${placeOf}
local function isWhole(list, scores)
  return redis.call('LLEN', list) == redis.call('ZCARD', scores)
end
`;

/**
 * Until when the first waiter of a queue counts as alive at most, although its score may be later: ten alive windows of the
 * asking client, and a minute at the least. Without this limit, after the server's clock was set back, the queue would wait
 * behind a dead first waiter for as long as the clock was set back. A live waiter with a longer window sends its heartbeat
 * earlier, or enters the queue again.
 */
export const mostAlive = "nowMs + math.max(60000, 10 * (aliveMs or math.huge))";

/**
 * Our queue beside a lock. An entry of the list is `<owner> <leaseMs>`. The owner's score in the key `alive` is the time until
 * which it counts as alive.
 */
export const entryOf = `
local function entryOf(owner, leaseMs) return owner .. ' ' .. string.format('%.0f', leaseMs) end
`;

/**
 * `liveHead` drops dead entries in front of the first live one, and returns that one: owner, lease, true. It drops at most 1,000
 * entries in one call, so that no call takes longer with more dead entries. If it reaches that limit, it returns the entry behind
 * them, and false: that entry may be dead or alive. Then the lock is not free for others, since a live waiter may be behind, and
 * it is not handed to that entry either.
 *
 * With `aliveMs`, the alive window of the asking client, the first live waiter counts as alive until `mostAlive` and no longer.
 */
export const firstWaiter: string = `
local function dropFirst(k, dead)
  if #dead == 0 then return end
  redis.call('LPOP', k.waiters, #dead)
  redis.call('ZREM', k.alive, unpack(dead))
end
local function liveHead(k, aliveMs)
  for _, most in ipairs({1, 9, 90, 900}) do
    local dead = {}
    for _, each in ipairs(redis.call('LRANGE', k.waiters, 0, most - 1)) do
      local owner, leaseMs = string.match(each, '^(.*) (%d+)$')
      local score = owner and redis.call('ZSCORE', k.alive, owner)
      if score and tonumber(score) > nowMs then
        dropFirst(k, dead)
        local mostMs = ${mostAlive}
        if tonumber(score) > mostMs then redis.call('ZADD', k.alive, mostMs, owner) end
        return owner, tonumber(leaseMs), true
      end
      dead[#dead + 1] = owner or each
    end
    dropFirst(k, dead)
    if #dead < most then return nil end
  end
  local entry = redis.call('LINDEX', k.waiters, 0)
  if not entry then return nil end
  local owner, leaseMs = string.match(entry, '^(.*) (%d+)$')
  return owner or entry, tonumber(leaseMs or '0'), false
end
`;

/**
 * `touch` makes all keys of our queue expire nine to ten alive windows after the last client's request. `touchAll` does so
 * without first checking whether it is needed. They never shorten a TTL, since other clients may have longer windows. PEXPIRE
 * with GT cannot be used, since it would leave a new key without a TTL.
 */
export const touching = `
local function touchAll(k, aliveMs)
  for _, key in ipairs({k.waiters, k.alive, k.run}) do
    if redis.call('PTTL', key) < 10 * aliveMs then redis.call('PEXPIRE', key, 10 * aliveMs) end
  end
end
local function touch(k, aliveMs)
  if redis.call('PTTL', k.waiters) < 9 * aliveMs then touchAll(k, aliveMs) end
end
`;
