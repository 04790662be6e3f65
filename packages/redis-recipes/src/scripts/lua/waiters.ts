/** Places in a queue are counted up to this one; of a waiter further back it is only known that it stands there or behind. */
export const farPlace = 100;

/**
 * `isQueued(list, entry, scores, owner)`: whether an owner stands in a queue that has a list for the order and a sorted set beside
 * it. Our scripts and Redisson's write both at once, so the set, which finds a member without a search, answers for the list. Only
 * where the two have different sizes, as after the loss of one key, the list is searched. A call that asks for many owners of one queue
 * compares the sizes once, and says so: `whole`.
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

/** `placeOf(list, entry)` looks at the front of a list. */
export const placeOf: string = `
local function placeOf(list, entry)
  return redis.call('LPOS', list, entry, 'MAXLEN', ${farPlace}) or ${farPlace}
end
`;

/** `isQueued`, `placeOf`, and `isWhole`, which compares the sizes for it. */
export const places: string = `${isQueued}${placeOf}
local function isWhole(list, scores)
  return redis.call('LLEN', list) == redis.call('ZCARD', scores)
end
`;

/**
 * Until when the first waiter of a queue counts as alive, though its own time may say more: for ten windows of the client that asks, and a
 * minute at the least. A dead waiter has more after the server's clock was set back, and the queue would stand still behind it for as long as
 * the clock went back. A live waiter with a longer window sends its heartbeat before, or enters the queue again.
 */
export const mostAlive = "nowMs + math.max(60000, 10 * (aliveMs or math.huge))";

/**
 * Our queue beside a lock. An entry of the list is `<owner> <leaseMs>`; the owner's score in the other key says until when it
 * counts as alive.
 */
export const entryOf = `
local function entryOf(owner, leaseMs) return owner .. ' ' .. string.format('%.0f', leaseMs) end
`;

/**
 * `liveHead` drops dead entries before the first live one and gives that one: owner, lease, true. It drops 1,000 in a call at most,
 * so that no call grows with the dead. After so many it gives the entry behind them, and false: it may be dead or alive. The lock is
 * not free for others then, as a live waiter may stand behind; but it is not handed to that entry either.
 *
 * With `aliveMs`, the alive window of the client that asks, that one counts as alive until `mostAlive` and no longer.
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
 * `touch` lets everything of ours vanish nine to ten windows after the last client has; `touchAll` does not look whether that is so already.
 * They lower no time, since other clients may have longer windows; PEXPIRE with GT would leave a new key without any.
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
