/**
 * The counter of a semaphore. `permitsAt(key)` returns the number, false where there is none, or nil and what is there instead.
 * `tellPermits` publishes Redisson's message, the number of free permits. It never publishes a negative number: Redisson's
 * subscribers would release that many and fail.
 */
export const permits = `
local function permitsAt(key)
  local kind = redis.call('TYPE', key).ok
  if kind == 'none' then return false end
  if kind ~= 'string' then return nil, kind end
  local value = redis.call('GET', key)
  if not string.match(value, '^%-?%d+$') then return nil, 'text' end
  return tonumber(value)
end
local function tellPermits(how, channel, value)
  if value >= 0 then tellRedisson(how, channel, string.format('%.0f', value)) end
end
`;
