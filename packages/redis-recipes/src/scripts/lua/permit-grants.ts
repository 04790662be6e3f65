/**
 * Permits with leases. Members are 16 raw bytes; requests and answers carry them as hex. `permitState(k)` returns the number of
 * free permits (false where no number is set), or nil and what is there instead. `reap` gives back expired permits, at most
 * `limit`.
 */
export const permitGrants = `
local never = 922337203685477
local function bytesOf(hex)
  local bytes = {}
  for from = 1, #hex, 8 do bytes[#bytes + 1] = struct.pack('>I4', tonumber(string.sub(hex, from, from + 7), 16)) end
  return table.concat(bytes)
end
local function permitState(k)
  local free, found = permitsAt(k.permits)
  if free == nil then return nil, found end
  local kind = redis.call('TYPE', k.grants).ok
  if kind ~= 'none' and kind ~= 'zset' then return nil, 'grants: ' .. kind end
  return free
end
local function reap(k, limit, how, channel)
  local given = 0
  repeat
    local part = math.min(1000, limit - given)
    local over = redis.call('ZRANGEBYSCORE', k.grants, 0, nowMs, 'LIMIT', 0, part)
    if #over > 0 then
      redis.call('ZREM', k.grants, unpack(over))
      local value = redis.call('INCRBY', k.permits, #over)
      if value > 0 then tellPermits(how, channel, value) end
    end
    given = given + #over
  until #over < part or given == limit
  return given
end
`;
