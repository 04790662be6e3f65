/** `raiseToken(key, value, ttlMs)`: writes a token as decimal text, with a TTL where `ttlMs` is above 0. Returns the text. */
export const raiseToken = `
local function raiseToken(key, value, ttlMs)
  local text = string.format('%.0f', value)
  if ttlMs > 0 then redis.call('SET', key, text, 'PX', ttlMs) else redis.call('SET', key, text) end
  return text
end
`;

/**
 * `lastToken(key)`: the last fencing token. 0 where there is none; nil where the key holds something else, or the next token
 * would not be exact.
 */
export const lastToken = `
local function lastToken(key)
  local value = redis.pcall('GET', key)
  if value == false then return 0 end
  if type(value) ~= 'string' or not string.match(value, '^%d+$') then return nil end
  value = tonumber(value)
  return value < 9007199254740000 and value or nil
end
`;

/** `nextToken(key, last, ttlMs)`: the token of a new holder, which it writes with `raiseToken`. Needs `raiseToken`. */
export const nextToken = `
local function nextToken(key, last, ttlMs)
  return raiseToken(key, math.max(last + 1, nowUs), ttlMs)
end
`;

/**
 * `drawToken(key, ttlMs)`: the token of a new holder where the last token was not read. It writes the server's microseconds and
 * gets the previous value back. One command is enough where that is lower, as nearly always. nil where the previous value is not
 * a token: a text is put back, but without the TTL that it may have had.
 */
export const drawToken: string = `
local function drawToken(key, ttlMs)
  local text, before = string.format('%.0f', nowUs), nil
  if ttlMs > 0 then before = redis.pcall('SET', key, text, 'GET', 'PX', ttlMs)
  else before = redis.pcall('SET', key, text, 'GET') end
  if not before then return text end
  local last = type(before) == 'string' and string.match(before, '^%d+$') and tonumber(before)
  if last and last < nowUs then return text end
  if last and last < 9007199254740000 then
    ${raiseToken}
    return raiseToken(key, last + 1, ttlMs)
  end
  if type(before) == 'string' then redis.call('SET', key, before) end
  return nil
end
`;

export const token: string = lastToken + raiseToken + nextToken;
