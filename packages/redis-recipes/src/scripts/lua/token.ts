/** `raiseToken(key, value, ttlMs)`: writes a token as decimal text, with the TTL where that is above 0; the text. */
export const raiseToken = `
local function raiseToken(key, value, ttlMs)
  local text = string.format('%.0f', value)
  if ttlMs > 0 then redis.call('SET', key, text, 'PX', ttlMs) else redis.call('SET', key, text) end
  return text
end
`;

/** `lastToken(key)`: the last fencing token, 0 where there is none, nil when something else is kept there or the next one would not be exact. */
export const lastToken = `
local function lastToken(key)
  local value = redis.pcall('GET', key)
  if value == false then return 0 end
  if type(value) ~= 'string' or not string.match(value, '^%d+$') then return nil end
  value = tonumber(value)
  return value < 9007199254740000 and value or nil
end
`;

/** `nextToken(key, last, ttlMs)`: that of a new holder, written as `raiseToken` does, which it needs. */
export const nextToken = `
local function nextToken(key, last, ttlMs)
  return raiseToken(key, math.max(last + 1, nowUs), ttlMs)
end
`;

export const token: string = lastToken + raiseToken + nextToken;
